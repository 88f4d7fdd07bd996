package server

import (
	"net/http"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/jsondoc"
	"github.com/lockstep-go/lockstep/tool"
)

// capabilities answers GET P/capabilities. The protocol names no route; this is
// the one that other AG-UI servers use.
func (h *Handler) capabilities(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(h.describe().AppendJSON(nil)) // the client has gone
}

// describe says what the agent can do. What is not known of the model behind it
// is left out: absent means unknown, false means no.
func (h *Handler) describe() *agui.Capabilities {
	yes, no := true, false
	keeps := h.model.Keeps()
	c := &agui.Capabilities{
		Identity:  &agui.IdentityCapabilities{Name: h.opts.Name, Description: h.opts.Description, Provider: h.agent.ProviderName()},
		Transport: &agui.TransportCapabilities{Streaming: &yes, Websocket: &no, HTTPBinary: &yes, PushNotifications: &no, Resumable: &yes},
		Tools:     &agui.ToolsCapabilities{Supported: &yes, ClientProvided: &yes},
		State:     &agui.StateCapabilities{Snapshots: &keeps, Deltas: &keeps, Memory: &no, PersistentState: &keeps},
	}
	for _, t := range h.agent.Tools() {
		d := agui.Tool{Name: t.Name(), Description: t.Description()}
		if declared, ok := tool.As[tool.Declared](t); ok {
			d.Parameters = declared.Schema()
		}
		c.Tools.Items = append(c.Tools.Items, d)
	}
	custom := jsondoc.Object()
	if s := h.model.PublicSchema(); !s.IsAbsent() {
		custom = custom.With("stateSchema", s)
	}
	if keeps {
		paths := []jsondoc.Value{}
		for _, p := range h.model.ReadOnlyPaths() {
			paths = append(paths, jsondoc.String(p))
		}
		custom = custom.With("stateAccess", jsondoc.Array(paths...))
	}
	if custom.Len() > 0 {
		c.Custom = custom
	}
	return c
}
