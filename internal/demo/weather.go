package demo

import (
	"context"
	"hash/fnv"
	"strings"

	"github.com/lockstep-go/lockstep/agent"
	"github.com/lockstep-go/lockstep/tool"
	"github.com/lockstep-go/lockstep/tool/functool"
)

// Weather is what get_weather answers, in the names that weather cards read.
type Weather struct {
	City        string `json:"city"`
	Temperature int    `json:"temperature"` // °C
	Conditions  string `json:"conditions"`
	Humidity    int    `json:"humidity"`   // per cent
	WindSpeed   int    `json:"wind_speed"` // km/h
	FeelsLike   int    `json:"feels_like"` // °C
}

func weatherAgent() agent.Config {
	return agent.Config{
		Name:         "backend_tool_rendering",
		Description:  "Looks the weather up with a tool on the server; the page shows the result as a card",
		Instructions: "You tell people the weather. Call get_weather with the place, then answer in one sentence.",
		Tools: []tool.Tool{functool.MustNew(functool.Config{
			Name: "get_weather", Description: "The weather at a place, as it might be.",
		}, func(_ context.Context, in struct {
			Location string `json:"location" jsonschema:"the city"`
		}) (Weather, error) {
			return weatherAt(in.Location), nil
		})},
	}
}

// weatherAt makes a weather up, the same for the same place: a demo asks nobody.
func weatherAt(place string) Weather {
	h := fnv.New32a()
	h.Write([]byte(strings.ToLower(place)))
	n := int(h.Sum32() % 1000)
	w := Weather{
		City: place, Temperature: n%28 + 2, Humidity: 35 + n%55, WindSpeed: 3 + n%30,
		Conditions: []string{"Sunny", "Partly cloudy", "Cloudy", "Light rain", "Clear"}[n%5],
	}
	w.FeelsLike = w.Temperature - w.WindSpeed/10
	return w
}
