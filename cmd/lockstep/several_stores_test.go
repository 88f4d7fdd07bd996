package main

import (
	"testing"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/lockstep-go/lockstep/internal/pgtest"
)

func TestSeveralProcessesOnPostgreSQL(t *testing.T) { severalProcesses(t, pgtest.URL(t)) }

func TestSeveralProcessesOnNATS(t *testing.T) {
	srv, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	severalProcesses(t, srv.ClientURL())
}
