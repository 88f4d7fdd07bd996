package client

import (
	"encoding/json"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/message"
)

// StateCarrier carries state to the server in a message for an agent of
// [NewAgent]. It may stand beside text, in a message with it or in one of its
// own: the state goes into the request's state, the text stays text, and a
// message that holds nothing else is not sent. Of several the last counts.
//
// Ordinary JSON data (message.DataContent) is a document for the agent to read
// and never becomes state, with one exception that is there for programs of an
// older kind and deprecated: a DataContent of type application/json in a system
// message counts as a carrier.
type StateCarrier struct {
	message.ContentHeader
	State jsondoc.Value
}

// CarryState makes a carrier of a Go value. It fails for values that JSON cannot
// say.
func CarryState(state any) (*StateCarrier, error) {
	v, err := jsondoc.From(state)
	if err != nil {
		return nil, err
	}
	return &StateCarrier{State: v}, nil
}

// MarshalJSON gives the carrier a form for stored messages.
func (c *StateCarrier) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type  string        `json:"type"`
		State jsondoc.Value `json:"state"`
	}{"stateCarrier", c.State})
}

// InterruptContent is a question that the run has stopped at, in the last update
// of an agent of [NewAgent]. The answers go with the next run, all of them in
// one [WithResume].
type InterruptContent struct {
	message.ContentHeader
	Interrupt agui.Interrupt
}

// MarshalJSON gives the question a form for stored messages.
func (c *InterruptContent) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string         `json:"type"`
		Interrupt agui.Interrupt `json:"interrupt"`
	}{"interrupt", c.Interrupt})
}

// carried is the state that a content carries.
func carried(role message.Role, c message.Content) (jsondoc.Value, bool, error) {
	switch c := c.(type) {
	case *StateCarrier:
		return c.State, true, nil
	case *message.DataContent:
		if role == message.RoleSystem && isMedia(c.MediaType, message.MediaTypeJSON) {
			v, err := jsondoc.Parse(c.Data, nil)
			return v, true, err
		}
	}
	return jsondoc.Value{}, false, nil
}
