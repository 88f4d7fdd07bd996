module github.com/lockstep-go/lockstep/bench

go 1.26.0

require (
	github.com/ag-ui-protocol/ag-ui/sdks/community/go v0.0.0-20260630145048-7479d97e25f6
	github.com/evanphx/json-patch/v5 v5.9.11
	github.com/lockstep-go/lockstep v0.0.0
	github.com/sirupsen/logrus v1.9.3
	github.com/wI2L/jsondiff v0.7.1
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/lockstep-go/lockstep => ../
