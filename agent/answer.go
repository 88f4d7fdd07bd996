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
	run      *message.FunctionCallContent // as it runs: a gate may have changed the arguments, and they are never empty
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
	arguments := call.Arguments
	if d.replace {
		arguments = d.arguments
		if _, err := parseArguments(arguments); err != nil {
			return &message.FunctionResultContent{CallID: call.CallID, Result: problemText(err), Error: err}, nil
		}
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	run := *call
	run.Arguments = arguments
	return nil, &job{call: call, run: &run, tool: f}
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

// crew is the tools of one turn at work. Everything but work itself happens in the
// goroutine that reads the stream.
type crew struct {
	*loopRun
	ctx     context.Context // the run's
	toolCtx context.Context
	stop    context.CancelFunc
	jobs    []*job
	next    int // the first job that is not started
	open    int // jobs without a result
	active  int // those of them that are started

	running  sync.WaitGroup
	outcomes chan outcome // one per job: a tool that ends when nobody listens any more must not hang
	expired  chan int     // jobs whose time is over, one per job
}

// execute yields the settled results, and runs the jobs meanwhile and yields theirs.
// It returns false if the stream is over.
func (r *loopRun) execute(ctx context.Context, now []settled, jobs []*job) bool {
	c := &crew{
		loopRun: r, ctx: ctx, jobs: jobs, open: len(jobs),
		outcomes: make(chan outcome, len(jobs)), expired: make(chan int, len(jobs)),
	}
	c.toolCtx, c.stop = context.WithCancel(ctx)
	defer func() {
		c.stop()
		wait(&c.running, stopGrace)
	}()
	c.fill()
	for _, s := range now {
		if !r.emit(ctx, s.call, s.result) {
			return false
		}
	}
	for c.open > 0 {
		ok := true
		select {
		case o := <-c.outcomes:
			ok = c.settle(o)
		case i := <-c.expired:
			ok = c.expire(i)
		case <-ctx.Done():
			ok = c.cancelled()
		}
		if !ok {
			return false
		}
		c.fill()
	}
	return true
}

// fill starts as many jobs as may run at a time.
func (c *crew) fill() {
	for c.next < len(c.jobs) && c.active < c.cfg.MaxParallel {
		i := c.next
		c.next++
		c.active++
		c.running.Go(func() {
			o := outcome{i: i, err: errGoexit}
			defer func() { c.outcomes <- o }()
			o = c.work(i)
		})
	}
}

// settle takes an outcome. It returns false if the stream is over.
func (c *crew) settle(o outcome) bool {
	j := c.jobs[o.i]
	if j.answered {
		return true // it was given up on before
	}
	if o.err != nil && c.ctx.Err() != nil {
		return c.cancelled() // it failed because it was told to stop
	}
	return c.report(c.ctx, o)
}

func (c *crew) report(ctx context.Context, o outcome) bool {
	j := c.jobs[o.i]
	j.answered = true
	c.open--
	c.active--
	return c.emit(ctx, j.call, c.result(ctx, j, o))
}

// expire gives up on a job whose time is over, unless it has answered in the same
// moment.
func (c *crew) expire(i int) bool {
	for {
		select {
		case o := <-c.outcomes:
			if !c.settle(o) {
				return false
			}
			continue
		default:
		}
		break
	}
	if c.ctx.Err() != nil {
		return c.cancelled()
	}
	if c.jobs[i].answered {
		return true
	}
	return c.report(c.ctx, outcome{i: i, err: ErrToolTimeout})
}

// cancelled ends a run whose context is over. Tools that have done their work are
// still reported: it has happened, and whoever keeps the conversation must know. It
// always returns false.
func (c *crew) cancelled() bool {
	c.stop()
	wait(&c.running, stopGrace)
	for {
		select {
		case o := <-c.outcomes:
			if o.err == nil && !c.jobs[o.i].answered && !c.report(context.WithoutCancel(c.ctx), o) {
				return false
			}
		default:
			return c.fail(context.Cause(c.ctx))
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

// work runs one tool, in its own goroutine. It does not panic.
func (c *crew) work(i int) (o outcome) {
	o.i = i
	j, ctx := c.jobs[i], c.toolCtx
	if d := c.cfg.ToolTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, ErrToolTimeout)
		defer cancel()
		// A tool that does not heed its context is given up on.
		defer context.AfterFunc(ctx, func() { c.expired <- i })()
	}
	defer func() {
		if p := recover(); p != nil {
			o.err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	o.value, o.err = invoke(tool.ContextWithCall(ctx, j.run, j.tool), c.functions, j.tool, j.run)
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
