package leveldb

import (
	"testing"

	"tarn/internal/planted"
)

// The test that cuts lists of files notices each fault of what the seal says of them.
func TestPlantedFaultsOfListsAreCaught(t *testing.T) {
	planted.Test(t, []planted.Fault{
		{Name: "a list that has lost its end is whole", File: "../folder.go",
			From: "was.Size > whole.Size", To: "was.Size > whole.Size && false"},
		{Name: "what is sealed of the list is not what is durable", File: "../folder.go",
			From: "head: h, list: list}", To: "head: h, list: List{list.Number, 0}}"},
	}, "-run=TestBase/AListThat")
}
