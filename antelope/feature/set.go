package feature

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Set is the features that a node recognises (Leap: protocol_feature_set). It is
// filled at start by one goroutine; from then on it does not change and may be
// read by all.
type Set struct {
	features []*Feature // ascending by digest
	builtin  [codenames]*Feature
}

// NewSet returns a set without features.
func NewSet() *Set { return &Set{} }

// Builtins returns the set of all builtin features with their defaults.
func Builtins() (*Set, error) {
	s := NewSet()
	for _, c := range Codenames() { // in this order dependencies come first
		f, err := standard(c, s.mustDigest)
		if err != nil {
			return nil, err
		}
		if _, err := s.Add(f); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) mustDigest(c Codename) (types.Checksum256, error) {
	d, ok := s.Digest(c)
	if !ok {
		return d, exception.New(exception.ProtocolFeature,
			"invariant failure: cycle found in builtin protocol feature dependencies")
	}
	return d, nil
}

func (s *Set) search(digest types.Checksum256) (int, bool) {
	return slices.BinarySearchFunc(s.features, digest, func(f *Feature, d types.Checksum256) int {
		return f.Digest.Compare(d)
	})
}

// Add computes f's digest and lets s recognise it. All that it depends on must be
// there, what the builtin needs among them (Leap: protocol_feature_set::add_feature).
func (s *Set) Add(f Feature) (*Feature, error) {
	if !f.Codename.Known() {
		return nil, exception.New(exception.ProtocolFeatureValidation,
			"Builtin protocol feature has unsupported builtin_protocol_feature_t: ${codename}",
			"codename", uint32(f.Codename))
	}
	if s.builtin[f.Codename] != nil {
		return nil, exception.New(exception.ProtocolFeature,
			"builtin protocol feature with codename '${codename}' already added", "codename", f.Codename)
	}
	f.Digest = f.digest()
	if err := s.checkNeeds(&f); err != nil {
		return nil, err
	}
	i, found := s.search(f.Digest)
	if found {
		return nil, exception.New(exception.ProtocolFeature,
			"builtin protocol feature with codename '${codename}' has a digest of ${digest} but another protocol "+
				"feature with the same digest has already been added", "codename", f.Codename, "digest", f.Digest)
	}
	s.features = slices.Insert(s.features, i, &f)
	s.builtin[f.Codename] = &f
	return &f, nil
}

func (s *Set) checkNeeds(f *Feature) error {
	met := make(map[Codename]bool)
	for _, d := range f.Dependencies {
		g := s.Find(d)
		if g == nil {
			return exception.New(exception.ProtocolFeature,
				"builtin protocol feature with codename '${codename}' and digest of ${digest} has a dependency on a "+
					"protocol feature with digest ${dependency_digest} that is not recognized",
				"codename", f.Codename, "digest", f.Digest, "dependency_digest", d)
		}
		met[g.Codename] = true
	}
	for _, need := range builtins[f.Codename].needs {
		if !met[need] {
			return exception.New(exception.ProtocolFeatureValidation,
				"Not all the builtin dependencies of the builtin protocol feature with codename '${codename}' and "+
					"digest of ${digest} were satisfied.",
				"codename", f.Codename, "digest", f.Digest)
		}
	}
	return nil
}

// Find returns the feature with this digest, nil if it is not recognised.
func (s *Set) Find(digest types.Checksum256) *Feature {
	if i, found := s.search(digest); found {
		return s.features[i]
	}
	return nil
}

// Get is Find with nodeos' exception where there is nothing to find.
func (s *Set) Get(digest types.Checksum256) (*Feature, error) {
	if f := s.Find(digest); f != nil {
		return f, nil
	}
	return nil, exception.New(exception.ProtocolFeature, "unrecognized protocol feature with digest: ${digest}",
		"digest", digest)
}

// Builtin returns the feature with this codename, nil if it is not recognised.
func (s *Set) Builtin(c Codename) *Feature {
	if c >= codenames {
		return nil
	}
	return s.builtin[c]
}

// Digest returns the digest under which a builtin is recognised.
func (s *Set) Digest(c Codename) (types.Checksum256, bool) {
	if f := s.Builtin(c); f != nil {
		return f.Digest, true
	}
	return types.Checksum256{}, false
}

// All returns the features by ascending digest. The slice must not be changed.
func (s *Set) All() []*Feature { return s.features }

// Supported returns the features that this node recognises, each after those that it needs.
// Those that are disabled can be left out, and with them those that cannot be activated yet
// in a block of time next (Leap: producer_plugin.cpp get_supported_protocol_features).
func (s *Set) Supported(next types.TimePoint, excludeDisabled, excludeUnactivatable bool) []*Feature {
	var list []*Feature
	visited := make(map[types.Checksum256]bool)
	var add func(f *Feature) bool
	add = func(f *Feature) bool {
		if f == nil || (excludeDisabled || excludeUnactivatable) && !f.Enabled ||
			excludeUnactivatable && next < f.EarliestActivation {
			return false
		}
		if done, ok := visited[f.Digest]; ok {
			return done
		}
		visited[f.Digest] = false
		n := len(list)
		for _, d := range f.Dependencies {
			if !add(s.Find(d)) {
				list = list[:n]
				return false
			}
		}
		visited[f.Digest] = true
		list = append(list, f)
		return true
	}
	for _, f := range s.features {
		add(f)
	}
	return list
}

// Recognition says whether a feature may be activated.
type Recognition int

// Answers of [Set.Recognise].
const (
	Unrecognised Recognition = iota
	Disabled
	TooEarly
	Ready
)

// Recognise says whether this node lets a feature be activated at a time (Leap:
// protocol_feature_set::is_recognized).
func (s *Set) Recognise(digest types.Checksum256, now types.TimePoint) Recognition {
	switch f := s.Find(digest); {
	case f == nil:
		return Unrecognised
	case !f.Enabled:
		return Disabled
	case f.EarliestActivation > now:
		return TooEarly
	}
	return Ready
}

// CheckRecognised is Recognise as an exception of the given kind, with the message
// of nodeos; nil if the feature is ready (Leap: controller.cpp
// check_protocol_features, preactivate_feature).
func (s *Set) CheckRecognised(digest types.Checksum256, now types.TimePoint, kind *exception.Kind) error {
	switch s.Recognise(digest, now) {
	case Unrecognised:
		return exception.New(kind, "protocol feature with digest '${digest}' is unrecognized", "digest", digest)
	case Disabled:
		return exception.New(kind, "protocol feature with digest '${digest}' is disabled", "digest", digest)
	case TooEarly:
		return exception.New(kind,
			"${timestamp} is too early for the earliest allowed activation time of the protocol feature with digest "+
				"'${digest}'", "digest", digest, "timestamp", now)
	}
	return nil
}

// DependenciesMet tells whether met holds for all that the feature depends on;
// false for one that is not recognised.
func (s *Set) DependenciesMet(digest types.Checksum256, met func(types.Checksum256) bool) bool {
	f := s.Find(digest)
	return f != nil && !slices.ContainsFunc(f.Dependencies, func(d types.Checksum256) bool { return !met(d) })
}

// Check tells why the features added may not be activated, in this order, by a
// block of time now, on top of those that are active; nil if they may (Leap:
// controller.cpp check_protocol_features).
func (s *Set) Check(now types.TimePoint, active *Active, added []types.Checksum256) error {
	for i, d := range added {
		if err := s.CheckRecognised(d, now, exception.ProtocolFeature); err != nil {
			return err
		}
		if active.Has(d) {
			return exception.New(exception.ProtocolFeature,
				"protocol feature with digest '${digest}' has already been activated", "digest", d)
		}
		met := func(need types.Checksum256) bool { return active.Has(need) || slices.Contains(added[:i], need) }
		if !s.DependenciesMet(d, met) {
			return exception.New(exception.ProtocolFeature,
				"not all dependencies of protocol feature with digest '${digest}' have been activated", "digest", d)
		}
	}
	return nil
}
