package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/message"
	"github.com/lockstep-go/lockstep/tool"
)

// stopGrace is how long a stopped run waits for its tools: long enough for a tool
// that heeds its context, short enough for a stop within 100 ms.
const stopGrace = 50 * time.Millisecond

// job is a call that runs.
type job struct {
	call     *message.FunctionCallContent // as the conversation has it
	run      *message.FunctionCallContent // as it runs: a gate may have changed the arguments
	tool     tool.FuncTool
	answered bool
}

// settled is a result that needs no tool.
type settled struct {
	call   *message.FunctionCallContent
	result *message.FunctionResultContent
}

// answer deals with calls: it runs what may run and yields a result for each, as
// they end. It returns whether the model is to be asked again: not if a call was
// left unanswered, and not if the stream is over.
func (r *loopRun) answer(ctx context.Context, calls []*message.FunctionCallContent) bool {
	var now []settled
	var jobs []*job
	left := false
	for _, call := range calls {
		result, j := r.decide(ctx, call)
		switch {
		case result != nil:
			now = append(now, settled{call, result})
		case j != nil:
			jobs = append(jobs, j)
		default:
			left = true
		}
	}
	return r.execute(ctx, now, jobs) && !left
}

// decide says what happens to a call: a result at once, a job, or neither; then it
// stays unanswered.
func (r *loopRun) decide(ctx context.Context, call *message.FunctionCallContent) (*message.FunctionResultContent, *job) {
	problem := call.Error
	if problem == nil {
		// A call of the history has not been looked at yet.
		_, problem = parseArguments(call.Arguments)
	}
	if problem != nil {
		return &message.FunctionResultContent{CallID: call.CallID, Result: problemText(problem), Error: problem}, nil
	}
	t := r.tools[call.Name]
	if t == nil {
		return &message.FunctionResultContent{
			CallID: call.CallID,
			Result: r.unknownText(call.Name),
			Error:  fmt.Errorf("%w %q", ErrUnknownTool, call.Name),
		}, nil
	}
	f, ok := t.(tool.FuncTool)
	if !ok {
		return nil, nil // somebody else's
	}
	var d Decision
	if r.gate != nil {
		d = r.gate(tool.ContextWithCall(ctx, call, t), call)
	}
	switch d.kind {
	case decideReject:
		return &message.FunctionResultContent{CallID: call.CallID, Result: d.result, Error: ErrRejected}, nil
	case decideHold:
		return nil, nil
	case decideDefault:
		if tool.NeedsApproval(t) {
			return nil, nil
		}
	}
	j := &job{call: call, run: call, tool: f}
	if d.arguments != "" {
		if _, err := parseArguments(d.arguments); err != nil {
			return &message.FunctionResultContent{CallID: call.CallID, Result: problemText(err), Error: err}, nil
		}
		changed := *call
		changed.Arguments = d.arguments
		j.run = &changed
	}
	return nil, j
}

func (r *loopRun) unknownText(name string) string {
	names := slices.Sorted(maps.Keys(r.tools))
	if len(names) == 0 {
		return fmt.Sprintf("Error: there is no tool %q and no other tool either. Answer without tools.", name)
	}
	return fmt.Sprintf("Error: there is no tool %q. The tools are %s.", name, strings.Join(names, ", "))
}

// outcome is what a job came to.
type outcome struct {
	i     int
	value any
	err   error
}

// execute yields the settled results, and runs the jobs meanwhile and yields theirs.
// It returns false if the stream is over.
func (r *loopRun) execute(ctx context.Context, now []settled, jobs []*job) bool {
	toolCtx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() {
		stop()
		wait(&running, stopGrace)
	}()
	// Buffered for all: a tool that answers when nobody listens any more must not
	// hang on it.
	outcomes := make(chan outcome, len(jobs))
	expired := make(chan int, len(jobs))
	slots := make(chan struct{}, r.cfg.MaxParallel)
	start := func(i int) {
		running.Go(func() {
			outcomes <- r.work(toolCtx, i, jobs[i], expired)
			<-slots
		})
	}
	next := 0
	fill := func() {
		for next < len(jobs) {
			select {
			case slots <- struct{}{}:
				start(next)
				next++
			default:
				return
			}
		}
	}
	fill()
	for _, s := range now {
		if !r.emit(ctx, s.call, s.result) {
			return false
		}
	}
	for open := len(jobs); open > 0; {
		select {
		case o := <-outcomes:
			j := jobs[o.i]
			if j.answered {
				break
			}
			if o.err != nil && ctx.Err() != nil {
				return r.cancelled(ctx, stop, &running, jobs, outcomes, &o)
			}
			j.answered = true
			open--
			if !r.emit(ctx, j.call, r.result(ctx, j, o)) {
				return false
			}
		case i := <-expired:
			// The tool may have answered in the same moment: then that counts.
			if j := jobs[i]; !j.answered && ctx.Err() == nil && len(outcomes) == 0 {
				outcomes <- outcome{i: i, err: ErrToolTimeout}
			}
		case <-ctx.Done():
			return r.cancelled(ctx, stop, &running, jobs, outcomes, nil)
		}
		fill()
	}
	return true
}

// cancelled ends a run whose context is over. Tools that have done their work are
// still reported: it has happened, and whoever keeps the conversation must know.
func (r *loopRun) cancelled(ctx context.Context, stop func(), running *sync.WaitGroup, jobs []*job, outcomes chan outcome, last *outcome) bool {
	stop()
	wait(running, stopGrace)
	for {
		if last != nil && last.err == nil && !jobs[last.i].answered {
			j := jobs[last.i]
			j.answered = true
			if !r.emit(context.WithoutCancel(ctx), j.call, r.result(ctx, j, *last)) {
				return false
			}
		}
		select {
		case o := <-outcomes:
			last = &o
		default:
			return r.fail(context.Cause(ctx))
		}
	}
}

// wait waits for running, but no longer than d.
func wait(running *sync.WaitGroup, d time.Duration) {
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// work runs one tool. It never panics.
func (r *loopRun) work(ctx context.Context, i int, j *job, expired chan<- int) (o outcome) {
	o = outcome{i: i, err: errGoexit}
	if d := r.cfg.ToolTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, ErrToolTimeout)
		defer cancel()
		// A tool that does not heed its context is given up on.
		defer context.AfterFunc(ctx, func() { expired <- i })()
	}
	defer func() {
		if p := recover(); p != nil {
			o.err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	ctx = tool.ContextWithCall(ctx, j.run, j.tool)
	o.value, o.err = invoke(ctx, r.functions, j.tool, j.run)
	if o.err != nil && errors.Is(context.Cause(ctx), ErrToolTimeout) {
		o.err = errors.Join(ErrToolTimeout, o.err)
	}
	return o
}

// result makes the content of an outcome. What a failed call shows is the text of a
// tool.Error or a neutral sentence; everything else goes to the log only.
func (r *loopRun) result(ctx context.Context, j *job, o outcome) *message.FunctionResultContent {
	c := &message.FunctionResultContent{CallID: j.call.CallID, Result: o.value, Error: o.err}
	if o.err == nil {
		return c
	}
	text, shown := tool.Shown(o.err)
	c.Result = text
	var p *PanicError
	switch {
	case errors.Is(o.err, ErrToolTimeout):
		c.Result = timeoutText(r.cfg.ToolTimeout)
		r.log(ctx, slog.LevelWarn, "tool timed out", j)
	case errors.As(o.err, &p):
		r.log(ctx, slog.LevelError, "tool panicked", j, slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
	case !shown:
		r.log(ctx, slog.LevelWarn, "tool failed", j, slog.Any("error", o.err))
	}
	return c
}

func (r *loopRun) log(ctx context.Context, level slog.Level, text string, j *job, attrs ...slog.Attr) {
	attrs = append([]slog.Attr{slog.String("tool", j.call.Name), slog.String("call", j.call.CallID)}, attrs...)
	r.cfg.Logger.LogAttrs(ctx, level, text, attrs...)
}

// emit passes a result on and adds it to the conversation. It returns false if the
// stream is over.
func (r *loopRun) emit(ctx context.Context, call *message.FunctionCallContent, result *message.FunctionResultContent) bool {
	for _, f := range r.after {
		changed, err := f(ctx, call, result)
		if err != nil {
			return r.fail(err)
		}
		if changed != nil {
			result = changed
		}
	}
	m := &message.Message{ID: "msg_" + r.cfg.NewID(), Role: message.RoleTool, Contents: message.Contents{result}}
	r.ids.messages[m.ID] = true
	r.conversation = append(r.conversation, m)
	return r.yield(&ResponseUpdate{Role: m.Role, MessageID: m.ID, Contents: m.Contents}, nil)
}
