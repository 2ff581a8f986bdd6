package leveldb

import (
	"testing"

	"tarn/internal/plantedfault"
)

// The test that cuts lists of files notices each fault of what the seal says of them.
func TestPlantedFaultsOfListsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{Name: "a list that has lost its end is whole", File: "../folder.go",
			From: "was.Size > whole.Size", To: "was.Size > whole.Size && false"},
		{Name: "what is durable of the list is not sealed", File: "../folder.go",
			From: "if list.Size == 0 {", To: "if list = (List{}); true {"},
	}, "-run=TestBase/AListThat")
}
