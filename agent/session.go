package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lockstep-go/lockstep/message"
)

// Session is a conversation that goes on over several runs: its messages, and
// values that middlewares and tools keep with it. Pass it with [WithSession].
//
// The zero value is an empty session. A session is safe for concurrent use, but
// two runs at a time on one session both start from the same messages; the one that
// ends last is last in the history. A session has a JSON form with everything in it
// except raw representations.
type Session struct {
	mu        sync.Mutex
	serviceID string
	messages  []*message.Message
	values    map[string]json.RawMessage
}

// ServiceID is the vendor's own id of the conversation, for providers whose vendor
// keeps it. A session with a service id sends the vendor new messages only.
func (s *Session) ServiceID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serviceID
}

// SetServiceID sets the vendor's id of the conversation.
func (s *Session) SetServiceID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serviceID = id
}

// Messages returns the conversation so far. The slice is the caller's, the messages
// are not.
func (s *Session) Messages() []*message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Append adds messages to the conversation.
func (s *Session) Append(messages ...*message.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, messages...)
}

// Get decodes the value under key into the value that into points to. It returns
// false if there is no such value, and an error if it is of another kind.
func (s *Session) Get(key string, into any) (bool, error) {
	s.mu.Lock()
	raw, ok := s.values[key]
	s.mu.Unlock()
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("agent: session value %q: %w", key, err)
	}
	return true, nil
}

// Set keeps the JSON form of value under key. It fails if value has none.
func (s *Session) Set(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("agent: session value %q: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]json.RawMessage)
	}
	s.values[key] = raw
	return nil
}

// Delete removes the value under key and reports whether there was one.
func (s *Session) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.values[key]
	delete(s.values, key)
	return ok
}

type sessionJSON struct {
	ServiceID string                     `json:"serviceId,omitempty"`
	Messages  []*message.Message         `json:"messages"`
	Values    map[string]json.RawMessage `json:"values,omitempty"`
}

// MarshalJSON encodes the session.
func (s *Session) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	data := sessionJSON{s.serviceID, slices.Clone(s.messages), maps.Clone(s.values)}
	s.mu.Unlock()
	if data.Messages == nil {
		data.Messages = []*message.Message{}
	}
	return json.Marshal(data)
}

// UnmarshalJSON replaces everything in the session, or nothing if it fails.
func (s *Session) UnmarshalJSON(text []byte) error {
	var data sessionJSON
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serviceID, s.messages, s.values = data.ServiceID, data.Messages, data.Values
	return nil
}
