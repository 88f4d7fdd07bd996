package server

import (
	"encoding/json"
	"iter"
	"net/http"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/jsondoc"
	msg "github.com/lockstep-go/lockstep/message"
)

type (
	message = msg.Message
	updates = iter.Seq2[*agent.ResponseUpdate, error]
)

// problem is one thing that is wrong with a request.
type problem struct {
	Path    string `json:"path"`             // JSON Pointer into the body, or the header's or route's name
	Message string `json:"message"`          // what would be right
	Offset  int    `json:"offset,omitempty"` // byte of the body, where it is not JSON
}

// answer is the body of every refused request.
type answer struct {
	Errors []problem `json:"errors"`
	RunID  string    `json:"runId,omitempty"` // the active run's, with 409
}

func fail(w http.ResponseWriter, status int, p problem) {
	failWith(w, status, answer{Errors: []problem{p}})
}

func failWith(w http.ResponseWriter, status int, a answer) {
	reply(w, status, a)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // the client has gone
}

// replyDoc answers with a document.
func replyDoc(w http.ResponseWriter, status int, body jsondoc.Value) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body.AppendJSON(nil)) // the client has gone
}
