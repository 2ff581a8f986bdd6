package p2p

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// makeLarge makes room for a read buffer of some size, if need be at the cost of whoever's
// message has taken longest to come.
func (c *conn) makeLarge(size int) error {
	more := int64(size) - c.large.Load()
	if size <= c.limits.MaxReadBuffer {
		return nil
	}
	for c.net.large.Add(more) > c.limits.LargeBytes {
		c.net.large.Add(-more)
		if oldest := c.net.oldestLarge(); oldest != nil {
			oldest.close(false, "its large message has taken the room for too long")
		}
		if !sleep(c.ended, c.limits.LargePause) {
			return context.Cause(c.ended)
		}
	}
	if c.large.Add(more) == more {
		c.largeSince.Store(time.Now().UnixNano())
	}
	return nil
}

// endLarge gives the room back.
func (c *conn) endLarge() {
	c.net.large.Add(-c.large.Swap(0))
	c.largeSince.Store(0)
}

// oldestLarge is the connection whose large message has taken longest, if that is long.
func (n *Network) oldestLarge() (oldest *conn) {
	since := time.Now().Add(-n.config.Limits.LargeGrace).UnixNano()
	for _, c := range *n.conns.Load() {
		if at := c.largeSince.Load(); at != 0 && at < since && c.ended.Err() == nil {
			oldest, since = c, at
		}
	}
	return oldest
}

// checkLarge ends a connection whose large message does not come.
func (c *conn) checkLarge(now time.Time) {
	if at := c.largeSince.Load(); at != 0 && now.Sub(time.Unix(0, at)) > c.limits.LargeTime && !c.delivering.Load() {
		reason := fmt.Sprintf("a large message did not come in %v", c.limits.LargeTime)
		c.warnf("%s", reason)
		c.cancel(errors.New(reason))
	}
}
