package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/agui"
	"github.com/lockstep-go/lockstep/internal/recording"
)

type replayCmd struct {
	File        string  `arg:"" help:"A recording of lockstep record."`
	Addr        string  `default:"127.0.0.1:0" help:"Address to listen on; port 0 takes a free one."`
	Speed       float64 `default:"1" help:"How many times as fast as recorded; 0 is as fast as possible."`
	AllowOrigin origins `help:"Browsers on pages of this origin may use the server; repeatable, or several with commas between them." placeholder:"ORIGIN"`
}

// Help is kong's long help.
func (replayCmd) Help() string {
	return `Serves a recording as an AG-UI agent: a POST on any path is answered with the
recorded stream, paced as it was recorded. The threadId and runId in it are
replaced by those that were posted; an id of a message or a call that the posted
history has already, since the recording was answered on that thread before, gets a
number. What is wrong with the stream stays wrong: broken events, a connection that
broke, a body that was never closed.

Example:

    lockstep record http://127.0.0.1:8888/ --message "Make me a carbonara" --out run.jsonl
    lockstep replay run.jsonl --addr 127.0.0.1:8889 --speed 2
    lockstep chat http://127.0.0.1:8889/`
}

const (
	// replayPing is how long a replayed stream may be silent.
	replayPing = 15 * time.Second
	// replayWrite is how long a client may take to send its input, and to read
	// what is written.
	replayWrite = 30 * time.Second
	// longest is where a wait stops to make sense.
	longest = float64(1000 * time.Hour)
	// maxPosted bounds a posted input, as serve does.
	maxPosted = 8 << 20
)

func (c replayCmd) Run(ctx context.Context, io std) error {
	if c.Speed < 0 || c.Speed != c.Speed {
		return usageError{fmt.Errorf("--speed %v: want 1 for as recorded, 2 for twice as fast, 0 for as fast as possible", c.Speed)}
	}
	// Read once, so that a broken file is told now and not to the first client.
	if err := readThrough(c.File); err != nil {
		return err
	}
	if _, port, err := net.SplitHostPort(c.Addr); err != nil {
		return usageError{fmt.Errorf("--addr %q: want HOST:PORT", c.Addr)}
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return usageError{fmt.Errorf("--addr %q: %q is no port", c.Addr, port)}
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", c.Addr, err)
	}
	log := slog.New(slog.NewTextHandler(io.err, nil))
	srv := &http.Server{
		Handler:           allowOrigins(c.AllowOrigin, &replayer{file: c.File, speed: c.Speed, log: log}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		// A signal ends what is being replayed.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(io.err, "listening on http://%s\n", listener.Addr())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if srv.Shutdown(end) != nil {
		_ = srv.Close() // somebody does not read
	}
	<-served
	return nil
}

// readThrough reads a recording to its end.
func readThrough(name string) error {
	r, closeFile, err := openRecording(name)
	if err != nil {
		return err
	}
	defer closeFile()
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return badRecording(name, err)
		}
	}
}

// replayer answers each POST with the recording. The file is read anew for each,
// so a long one takes no memory.
type replayer struct {
	file  string
	speed float64
	log   *slog.Logger
}

func (p *replayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		refuseReplay(w, http.StatusMethodNotAllowed, "", "this is a recording: POST an AG-UI RunAgentInput to any path")
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(replayWrite)) // not every writer can
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPosted))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		refuseReplay(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body could not be read; it may have %d bytes", maxPosted))
		return
	}
	in, err := agui.DecodeInput(body, nil)
	if err != nil {
		var bad *agui.DecodeError
		if errors.As(err, &bad) {
			refuseReplay(w, http.StatusBadRequest, bad.Path, bad.Reason)
		} else {
			refuseReplay(w, http.StatusBadRequest, "", "the body is not a RunAgentInput")
		}
		return
	}
	rec, closeFile, err := openRecording(p.file)
	if err != nil {
		p.log.Error("the recording cannot be read any more", "error", err)
		refuseReplay(w, http.StatusInternalServerError, "", "the recording cannot be read")
		return
	}
	defer closeFile()
	play := &playback{
		w: w, control: control, speed: p.speed,
		ids: recording.NewRebinder(rec.Header(), in),
	}
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may have more to do
	switch err := play.all(r.Context(), rec); {
	case errors.Is(err, errCutShort):
		panic(http.ErrAbortHandler) // the server's way to break a connection
	case err != nil && r.Context().Err() == nil:
		p.log.Error("the replay ended early", "error", err)
	}
}

func refuseReplay(w http.ResponseWriter, status int, path, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	type problem struct {
		Path    string `json:"path"`
		Message string `json:"message"`
	}
	_ = json.NewEncoder(w).Encode(map[string][]problem{"errors": {{path, message}}}) // the client has gone
}

// playback writes one recording to one client.
type playback struct {
	w       http.ResponseWriter
	control *http.ResponseController
	speed   float64
	ids     *recording.Rebinder
	started time.Time
	begun   bool
}

// errCutShort is how a recording of a broken connection ends.
var errCutShort = errors.New("the recorded connection broke here")

func (p *playback) all(ctx context.Context, rec *recording.Reader) error {
	p.started = time.Now()
	for {
		l, err := rec.Next()
		if err == io.EOF {
			return nil // the recorder was killed
		}
		if err != nil {
			return err
		}
		if err := p.wait(ctx, l.At); err != nil {
			return err
		}
		switch {
		case l.Response != nil:
			err = p.begin(l.Response)
		case l.End == recording.Broken:
			return errCutShort
		case l.End == recording.Open:
			return p.holdOpen(ctx)
		case l.End != "":
			return nil
		default:
			err = p.write(frame(l, p.ids.Event(l.Data)))
		}
		if err != nil {
			return err
		}
	}
}

// wait lets the time pass until something came in the recording.
func (p *playback) wait(ctx context.Context, at time.Duration) error {
	if p.speed == 0 {
		return ctx.Err()
	}
	for {
		left := time.Until(p.started.Add(time.Duration(min(float64(at)/p.speed, longest))))
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(min(left, replayPing))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if left > replayPing && p.begun {
			if err := p.write(": keep-alive\n\n"); err != nil {
				return err
			}
		}
	}
}

func (p *playback) begin(res *recording.Response) error {
	header := p.w.Header()
	header.Set("Content-Type", res.ContentType)
	if res.ContentType == "" {
		header["Content-Type"] = nil // net/http would make one up
	}
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	p.w.WriteHeader(res.Status)
	p.begun = true
	if res.Body != "" {
		return p.write(res.Body)
	}
	return p.control.Flush()
}

func (p *playback) write(text string) error {
	if !p.begun {
		if err := p.begin(&recording.Response{Status: http.StatusOK, ContentType: "text/event-stream"}); err != nil {
			return err
		}
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(replayWrite)) // not every writer can
	if _, err := io.WriteString(p.w, text); err != nil {
		return err
	}
	return p.control.Flush()
}

// holdOpen does as a server that forgets to close.
func (p *playback) holdOpen(ctx context.Context) error {
	ping := time.NewTicker(replayPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
			if err := p.write(": keep-alive\n\n"); err != nil {
				return err
			}
		}
	}
}

// frame is a line as server-sent events have it. A line break in the data, which
// only broken events have, becomes a second data line.
func frame(l recording.Line, data []byte) string {
	var b strings.Builder
	if l.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", strings.NewReplacer("\n", "", "\r", "").Replace(l.ID))
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	if !l.Cut {
		b.WriteByte('\n')
	}
	return b.String()
}
