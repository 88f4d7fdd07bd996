// Package server answers: how do others reach an agent?
//
// New makes an http.Handler that speaks AG-UI for one agent: POST runs it.
// Host puts several under their paths, with the routes that belong to the
// process. Authentication, CORS and rate limits are ordinary middleware around
// either.
//
// Every answer before the first event is an ordinary HTTP status with a JSON
// body {"errors":[{"path","message"}]}; once a run has started, what goes wrong
// is RUN_ERROR in the stream (W1).
package server
