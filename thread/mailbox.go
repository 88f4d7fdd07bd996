package thread

import (
	"context"
	"sync"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/message"
)

// mailbox takes what the agent's goroutines have to say to the driver, in
// order. What arrives while an append is under way is joined: the fragments of
// one call or one text become one item (T2). Otherwise each keeps its own, so
// that on a fast store everything is shown as it came. The mailbox is bounded
// in bytes; a full one makes the agent wait.
type mailbox struct {
	mu      sync.Mutex
	items   []item
	bytes   int
	joining bool // an append is under way
	closed  bool
	filled  chan struct{} // has a token when there may be items
	drained chan struct{} // closed and made anew when items were taken, or at the end
	over    chan struct{} // closed at the end
}

// item is a content of the agent's stream, a request to run on the driver's
// goroutine, or the end of the stream.
type item struct {
	update  *agent.ResponseUpdate
	content message.Content
	do      func()
	end     bool
	err     error
	size    int
	more    []byte // text of joined items, behind content's own
}

const mailboxBytes = 1 << 20

func newMailbox() *mailbox {
	return &mailbox{filled: make(chan struct{}, 1), drained: make(chan struct{}), over: make(chan struct{})}
}

// put adds an item. It fails when ctx is done or the mailbox is closed.
func (m *mailbox) put(ctx context.Context, it item) error {
	for {
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return ErrClosed
		}
		if m.bytes < mailboxBytes || it.do != nil || it.end {
			m.add(it)
			m.mu.Unlock()
			select {
			case m.filled <- struct{}{}:
			default:
			}
			return nil
		}
		drained := m.drained
		m.mu.Unlock()
		select {
		case <-drained:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (m *mailbox) add(it item) {
	if n := len(m.items); m.joining && n > 0 && join(&m.items[n-1], it) {
		m.bytes += it.size
		return
	}
	m.items = append(m.items, it)
	m.bytes += it.size
}

// join adds b to a where both are pieces of one text or one call's arguments.
// The pieces are gathered in one buffer: a long wait must not cost a copy of
// everything for each of them.
func join(a *item, b item) bool {
	if a.update == nil || b.update == nil || a.update.MessageID != b.update.MessageID {
		return false
	}
	switch x := a.content.(type) {
	case *message.TextContent:
		if y, ok := b.content.(*message.TextContent); ok {
			a.more = append(a.more, y.Text...)
			a.size += b.size
			return true
		}
	case *message.FunctionCallDelta:
		if y, ok := b.content.(*message.FunctionCallDelta); ok && x.CallID == y.CallID && !y.Restart {
			a.more = append(a.more, y.Arguments...)
			a.size += b.size
			return true
		}
	}
	return false
}

// whole is the item's content with everything that was joined to it.
func (it item) whole() message.Content {
	if len(it.more) == 0 {
		return it.content
	}
	switch x := it.content.(type) {
	case *message.TextContent:
		return &message.TextContent{Text: x.Text + string(it.more)}
	case *message.FunctionCallDelta:
		joined := *x
		joined.Arguments += string(it.more)
		return &joined
	}
	return it.content
}

// take returns everything there is, waiting for something. It fails when ctx is
// done.
func (m *mailbox) take(ctx context.Context) ([]item, error) {
	for {
		m.mu.Lock()
		if len(m.items) > 0 {
			items := m.items
			m.items, m.bytes = nil, 0
			close(m.drained)
			m.drained = make(chan struct{})
			m.mu.Unlock()
			return items, nil
		}
		m.mu.Unlock()
		select {
		case <-m.filled:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// setJoining says whether an append is under way.
func (m *mailbox) setJoining(on bool) {
	m.mu.Lock()
	m.joining = on
	m.mu.Unlock()
}

// close refuses further items, drops those that are left and frees those who
// wait.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.items = nil
		close(m.over)
		close(m.drained)
		m.drained = make(chan struct{})
	}
}
