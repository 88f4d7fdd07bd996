package aguipb_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/agui/aguipb"
)

// The same events in other bytes, written and read.
func Example() {
	fmt.Println(aguipb.Accepts("application/vnd.ag-ui.event+proto, text/event-stream;q=0.5"))
	var stream []byte
	for _, e := range []agui.Event{
		&agui.RunStarted{ThreadID: "t", RunID: "r"},
		&agui.RunFinished{ThreadID: "t", RunID: "r"},
	} {
		var err error
		if stream, err = aguipb.AppendFrame(stream, e, agui.V1); err != nil {
			log.Fatal(err)
		}
	}
	for got, err := range aguipb.ReadEvents(bytes.NewReader(stream), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(agui.AppendEvent(nil, got.Event, agui.V1)))
	}
	// Output:
	// true
	// {"type":"RUN_STARTED","threadId":"t","runId":"r"}
	// {"type":"RUN_FINISHED","threadId":"t","runId":"r"}
}
