// Package wire is how state history shows blocks: the transactions that were executed
// in one, and the rows that it changed, in the bytes that nodeos' plugin writes to its
// logs and sends to clients (Leap: libraries/state_history). Where a variant has
// several versions it writes the one that Leap 5 writes. What Spring has added are messages
// that tell of finality data; a server and a client agree on a [Version] by the first frame.
//
// It owns the encoding and what is left out of it. It never orders rows, which
// antelope/state does, and knows neither files nor sockets.
package wire
