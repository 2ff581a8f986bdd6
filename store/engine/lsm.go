package engine

import (
	"fmt"

	"tarn/store"
)

func openLSM(dir string, k Kind, _ Options) (store.Engine, error) {
	return nil, fmt.Errorf("%s: this build has no %s engine", dir, k)
}
