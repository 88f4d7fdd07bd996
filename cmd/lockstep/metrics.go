package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lockstep-go/lockstep/thread"
)

// metrics serves what the process counts as Prometheus text.
func metrics(m *thread.Metrics) http.Handler {
	r := prometheus.NewRegistry()
	count := func(name, help string, read func() int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
	}
	gauge := func(name, help string, read func() int64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
	}
	count("lockstep_runs_total", "Runs that were started.", m.Runs.Load)
	gauge("lockstep_runs_active", "Runs without a terminal event.", m.Active.Load)
	gauge("lockstep_viewers", "Bodies that follow a thread, those of the posters of runs included.", m.Viewers.Load)
	count("lockstep_edits_total", "Edits and undos by people, outside of runs.", m.Edits.Load)
	count("lockstep_appended_entries_total", "Entries appended to logs.", m.Appended.Load)
	count("lockstep_store_retries_total", "Appends that had to be tried again because the store failed.", m.Retries.Load)
	count("lockstep_recovered_runs_total", "Runs that were ended because their process was gone.", m.Recovered.Load)
	count("lockstep_repaired_deltas_total", "Deltas that did not apply and became snapshots; not 0 is a fault.", m.RepairedDeltas.Load)
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
