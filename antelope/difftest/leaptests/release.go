package main

// release is a nodeos whose tests are run.
type release struct {
	name     string // of -of and of the folder
	title    string
	variable string // of the environment, names the checkout
	tool     string // program beside nodeos
	requests string // argument of the clients of state history
}

var (
	leap = release{name: "leap", title: "Leap 5.0.3", variable: "TARN_LEAP", tool: "leap-util",
		requests: "-version=0"}
	spring = release{name: "spring", title: "Spring 1.2.2", variable: "TARN_SPRING", tool: "spring-util",
		requests: "-version=1"}
)

func releases() []release { return []release{leap, spring} }
