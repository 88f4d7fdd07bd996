package message_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// A user's message with text and an image.
func ExampleNew() {
	image, err := message.NewDataContent([]byte("\x89PNG"), "image/png")
	if err != nil {
		log.Fatal(err)
	}
	m := message.New(&message.TextContent{Text: "What is on it?"}, image)
	fmt.Println(m.Role, m, image.URI())
	// Output: user What is on it? data:image/png;base64,iVBORw==
}

// An agent that has no tool says what the state is, or how it changes, as data.
func ExampleDataContent() {
	whole, err := message.NewDataContent([]byte(`{"progress":0}`), message.MediaTypeJSON)
	if err != nil {
		log.Fatal(err)
	}
	change, err := message.NewDataContent([]byte(`[{"op":"replace","path":"/progress","value":50}]`), message.MediaTypeJSONPatch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(whole.MediaType, string(whole.Data))
	fmt.Println(change.MediaType, string(change.Data))
	// Output:
	// application/json {"progress":0}
	// application/json-patch+json [{"op":"replace","path":"/progress","value":50}]
}

func ExampleParseDataURI() {
	c, err := message.ParseDataURI("data:text/plain;charset=utf-8,soft%20boiled")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.TopLevelMediaType(), "|", string(c.Data))
	// Output: text | soft boiled
}

// What a stream has cut is joined.
func ExampleCoalesceContents() {
	whole := message.CoalesceContents(message.Contents{
		&message.TextContent{Text: "I will "},
		&message.TextContent{Text: "look."},
		&message.FunctionCallDelta{CallID: "c1", Name: "forecast", Arguments: `{"city":`},
		&message.FunctionCallDelta{CallID: "c1", Arguments: `"Oslo"}`},
	})
	fmt.Println(whole.Text())
	for _, c := range whole.Calls() {
		fmt.Println(c.CallID, c.Name, c.Arguments)
	}
	// Output:
	// I will look.
	// c1 forecast {"city":"Oslo"}
}

// The calls that somebody still has to answer: a person who approves, or a client
// whose tools they are.
func ExampleUnanswered() {
	conversation := []*message.Message{
		message.NewText("Clean up."),
		message.NewAssistant(
			&message.FunctionCallContent{CallID: "c1", Name: "list_files", Arguments: "{}"},
			&message.FunctionCallContent{CallID: "c2", Name: "delete_file", Arguments: `{"name":"old.txt"}`},
		),
		message.NewResult("c1", []string{"old.txt"}),
	}
	for _, call := range message.Unanswered(conversation) {
		fmt.Println(call.Name, call.Arguments)
	}
	// Output: delete_file {"name":"old.txt"}
}

// Agent code asks a person, and finds the answer at the end of the next run's
// conversation.
func ExampleInterruptRequestContent() {
	question := &message.InterruptRequestContent{
		ID: "seats", Message: "How many seats?", ResponseSchema: jsondoc.MustParse(`{"type":"integer","minimum":1}`),
	}
	fmt.Println(question.Message, question.ResponseSchema)

	next := []*message.Message{
		message.NewText("Book a table."),
		message.New(&message.InterruptResponseContent{ID: "seats", Payload: jsondoc.Int(4)}),
	}
	for _, c := range next[len(next)-1].Contents {
		if answer, ok := c.(*message.InterruptResponseContent); ok && !answer.Cancelled {
			fmt.Println(answer.ID, answer.Payload)
		}
	}
	// Output:
	// How many seats? {"type":"integer","minimum":1}
	// seats 4
}

// Conversations have a JSON form, with what this program does not know kept in it.
func ExampleMessage_MarshalJSON() {
	text, err := json.Marshal(message.NewAssistant(
		&message.TextContent{Text: "Here."},
		&message.RawContent{JSON: []byte(`{"type":"hologram","id":7}`)},
	))
	fmt.Println(string(text), err)
	var back message.Message
	err = json.Unmarshal(text, &back)
	fmt.Println(back.String(), len(back.Contents), err)
	// Output:
	// {"role":"assistant","contents":[{"type":"text","text":"Here."},{"type":"hologram","id":7}]} <nil>
	// Here. 2 <nil>
}
