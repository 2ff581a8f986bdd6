package intrinsic

import "tarn/antelope/types"

// silent is a chain that notes nothing.
type silent struct{ *fake }

func (silent) RequireAuth(types.Name) error       { return nil }
func (silent) HasAuth(types.Name) bool            { return true }
func (silent) IsAccount(types.Name) (bool, error) { return true, nil }
func (s silent) StoreI64(_, _, _ types.Name, _ uint64, _ []byte) (int32, error) {
	return s.itr, nil
}
func (silent) UpdateI64(int32, types.Name, []byte) error             { return nil }
func (silent) RemoveI64(int32) error                                 { return nil }
func (s silent) GetI64(int32) ([]byte, error)                        { return s.data, nil }
func (s silent) NextI64(int32) (int32, uint64, error)                { return s.itr, s.primary, nil }
func (s silent) PreviousI64(int32) (int32, uint64, error)            { return s.itr, s.primary, nil }
func (s silent) FindI64(_, _, _ types.Name, _ uint64) (int32, error) { return s.itr, nil }
func (s silent) LowerBoundI64(_, _, _ types.Name, _ uint64) (int32, error) {
	return s.itr, nil
}
func (s silent) UpperBoundI64(_, _, _ types.Name, _ uint64) (int32, error) {
	return s.itr, nil
}
func (s silent) EndI64(_, _, _ types.Name) (int32, error) { return s.itr, nil }
func (s silent) SecondaryStore(Index, types.Name, types.Name, types.Name, uint64, SecondaryKey) (int32, error) {
	return s.itr, nil
}
func (silent) SecondaryUpdate(Index, int32, types.Name, SecondaryKey) error { return nil }
func (silent) SecondaryRemove(Index, int32) error                           { return nil }
func (s silent) SecondaryNext(Index, int32) (int32, uint64, error)          { return s.itr, s.primary, nil }
func (s silent) SecondaryFind(Index, types.Name, types.Name, types.Name, SecondaryKey) (int32, uint64, error) {
	return s.itr, s.primary, nil
}
func (s silent) SecondaryFindPrimary(Index, types.Name, types.Name, types.Name, uint64) (int32, SecondaryKey, error) {
	return s.itr, s.key, nil
}
func (s silent) SecondaryLowerBound(
	Index, types.Name, types.Name, types.Name, SecondaryKey,
) (int32, uint64, SecondaryKey, error) {
	return s.itr, s.primary, s.key, nil
}
func (s silent) SecondaryUpperBound(
	Index, types.Name, types.Name, types.Name, SecondaryKey,
) (int32, uint64, SecondaryKey, error) {
	return s.itr, s.primary, s.key, nil
}
