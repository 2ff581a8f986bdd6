package execute

import (
	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// sender sends what an action causes: inline actions, deferred transactions, a value to
// whoever asked ([intrinsic.Sender]).
type sender struct {
	*action
	inline, contextFree []uint32 // ordinals, to run after all receivers
}

// SendInline implements intrinsic.Sender (Leap: apply_context::execute_inline).
func (s *sender) SendInline(act types.Action) error {
	if err := s.checkAccount(act.Account); err != nil {
		return err
	}
	noBypass := s.e.active(feature.RestrictActionToSelf)
	toSelf := act.Account == s.receiver
	inherit := !noBypass && toSelf && s.receiver == s.act.Account && s.e.speculative()
	lists := s.trx.enforceLists && s.e.speculative()
	var inherited []types.PermissionLevel
	var actors []types.Name
	for _, level := range act.Authorization {
		if err := s.e.checkLevel(level, exception.ActionValidate, "inline action"); err != nil {
			return err
		}
		if lists {
			actors = putName(actors, level.Actor)
		}
		if inherit && s.RequireAuth2(level.Actor, level.Permission) == nil {
			inherited = putLevel(inherited, level)
		}
	}
	if lists {
		if err := checkActors(&s.e.policy.Lists, actors); err != nil {
			return err
		}
	}
	if !s.e.skipChecks() && !s.privileged && s.trx.kind != ReadOnly {
		err := s.e.authority.CheckAuthorization([]types.Action{act}, &authority.Check{
			Provided:  []types.PermissionLevel{{Actor: s.receiver, Permission: nameCode}},
			Delay:     int64(s.e.block.time() - s.trx.published),
			Satisfied: inherited, Checktime: s.trx.checktime, Tolerant: s.trx.kind == DryRun,
		})
		if err := s.forgiveSelf(err, noBypass ||
			!toSelf, "Authorization failure with inline action sent to self"); err != nil {
			return err
		}
	}
	ordinal, err := s.schedule(act, act.Account, false, act.Size())
	if err != nil {
		return err
	}
	s.inline = append(s.inline, ordinal)
	if d := s.deepMind(); d != nil {
		d.SendInline()
	}
	return nil
}

// forgiveSelf lets a contract send itself what its authority does not cover, as it
// was before RESTRICT_ACTION_TO_SELF; a producer does not.
func (s *sender) forgiveSelf(err error, strict bool, message string) error {
	switch {
	case err == nil || strict || exception.Of(err) == nil:
		return err
	case s.e.speculative():
		return exception.New(exception.SubjectiveBlockProduction, message).From(err)
	}
	return nil
}

func putLevel(list []types.PermissionLevel, l types.PermissionLevel) []types.PermissionLevel {
	i := len(list)
	for i > 0 && list[i-1].Compare(l) >= 0 {
		i--
	}
	if i < len(list) && list[i] == l {
		return list
	}
	list = append(list, types.PermissionLevel{})
	copy(list[i+1:], list[i:])
	list[i] = l
	return list
}

func (s *sender) checkAccount(n types.Name) error {
	account, err := s.e.state.Accounts.Get(n)
	if err == nil && account == nil {
		err = invalid("inline action's code account ${account} does not exist", "account", n)
	}
	return err
}

// SendContextFreeInline implements intrinsic.Sender.
func (s *sender) SendContextFreeInline(act types.Action) error {
	if err := s.checkAccount(act.Account); err != nil {
		return err
	}
	if len(act.Authorization) > 0 {
		return invalid("context-free actions cannot have authorizations")
	}
	ordinal, err := s.schedule(act, act.Account, true, act.Size())
	if err != nil {
		return err
	}
	s.contextFree = append(s.contextFree, ordinal)
	if d := s.deepMind(); d != nil {
		d.SendContextFreeInline()
	}
	return nil
}

// SetReturnValue implements intrinsic.Sender.
func (s *sender) SetReturnValue(value []byte) { s.returnValue = append(s.returnValue[:0], value...) }

// SenderOf implements intrinsic.Sender.
func (s *sender) SenderOf() types.Name {
	if creator := s.trace().CreatorOrdinal; creator > 0 {
		return s.trx.trace.ActionTraces[creator-1].Receiver
	}
	return 0
}
