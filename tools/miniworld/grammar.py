"""From a scene to a sentence or a fragment: the choice of words, voice, order and function words."""

from __future__ import annotations

from miniworld import lexicon
from miniworld.lexicon import Domain, VerbForm
from miniworld.morphology import article
from miniworld.randomness import Dice
from miniworld.scene import Entity, Scene

SINGULAR, PLURAL = ("the", "a", "the", "a", "this", "one"), ("the", "some", "two", "several", "the", "many")


class Speaker:
    """Says scenes. What is said twice is said in the same words, except for a share ``change`` of the choices.

    A new `Speaker` chooses freely; the choices made so far are kept in ``memory``.
    """

    def __init__(self, dice: Dice, memory: dict[str, int] | None = None, change: float = 0.0) -> None:
        self.dice, self.change = dice, change
        self.before = memory or {}
        self.memory: dict[str, int] = {}

    def pick(self, key: str, size: int) -> int:
        """A choice of 0..size-1, remembered under ``key``; a changed one differs from the one before."""
        if size == 1:
            return 0
        if key in self.memory:
            return self.memory[key]
        old = self.before.get(key)
        chance = self.dice.random
        if old is None or old >= size:
            value = int(chance() * size)
        elif chance() < self.change:
            value = (old + 1 + int(chance() * (size - 1))) % size
        else:
            value = old
        self.memory[key] = value
        return value

    # -- parts ------------------------------------------------------------------------------------------------------

    def noun_phrase(self, domain: Domain, entity: Entity, bare: bool = False, role: str = "") -> str:
        """``a small dog``, ``the hound``, ``two boys over the moon``; ``bare``: without a determiner."""
        forms = domain.concepts[entity.noun].surfaces
        text = forms[self.pick(entity.noun, len(forms))][entity.plural]
        if entity.attribute is not None:
            options = domain.concepts[entity.attribute].surfaces
            word = options[self.pick(entity.attribute, len(options))]
            if " " not in word:
                text = f"{word} {text}"
            elif bare:
                text = f"{text} {word}"
            else:
                text = f"{text} {_who(domain, entity)} {'are' if entity.plural else 'is'} {word}"
        if bare:
            return text
        if entity.plural:
            return f"{PLURAL[self.pick(role + 'det', 6)]} {text}"
        word = SINGULAR[self.pick(role + "det", 6)]
        return f"{article(text) if word == 'a' else word} {text}"

    def verb(self, domain: Domain, name: str) -> VerbForm:
        """One surface of the verb."""
        forms = domain.concepts[name].surfaces
        return forms[self.pick(name, len(forms))]

    def predicate(self, form: VerbForm, inflected: str, patient: str) -> str:
        """``turns the offer down`` or ``turns down the offer``; without a patient ``gives up``."""
        if not patient:
            return f"{inflected}{form.before}{form.after}"
        if form.after and self.pick("particle", 2):
            return f"{inflected}{form.before}{form.after} {patient}"
        return f"{inflected}{form.before} {patient}{form.after}"

    def modifier(self, domain: Domain, name: str) -> str:
        """A place or a manner."""
        options = domain.concepts[name].surfaces
        return options[self.pick(name, len(options))]

    # -- sentences --------------------------------------------------------------------------------------------------

    def say(self, scene: Scene) -> str:
        """One sentence, capitalised, without a full stop."""
        domain = lexicon.domain(scene.domain)
        text = self._headline(domain, scene) if scene.domain == "headlines" else self._clause(domain, scene)
        if scene.agent.plural:
            text = text.replace(" its ", " their ")
        return text[0].upper() + text[1:]

    def _clause(self, domain: Domain, scene: Scene) -> str:
        form = self.verb(domain, scene.verb)
        agent = self.noun_phrase(domain, scene.agent, role="agent")
        patient = self.noun_phrase(domain, scene.patient, role="patient") if scene.patient else ""
        shape = self.pick("shape", 10)
        if patient and shape < 2 and " its " not in form.before:
            clause = self._passive(scene, form, agent, patient)
        elif shape == 2 and scene.tense == "present" and not any(f" {who} " in agent for who in ("who", "that")):
            are = "are" if scene.agent.plural else "is"
            clause = f"there {are}{' no' if scene.negated else ''} {self._indefinite(agent, scene)} "
            clause += self.predicate(form, form.gerund, patient)
        elif shape == 3:
            be = "was" if scene.tense == "past" else "is"
            clause = f"it {be} {agent} {_who(domain, scene.agent)} {self._finite(scene, form, patient)}"
        else:
            clause = f"{agent} {self._finite(scene, form, patient)}"
        return self._with_modifiers(domain, scene, clause)

    def _indefinite(self, agent: str, scene: Scene) -> str:
        _, _, rest = agent.partition(" ")
        if scene.negated:
            return rest
        return f"some {rest}" if scene.agent.plural else f"{article(rest)} {rest}"

    def _with_modifiers(self, domain: Domain, scene: Scene, clause: str) -> str:
        manner = self.modifier(domain, scene.manner) if scene.manner else ""
        if manner:
            if " " not in manner and self.pick("manner first", 4) == 0:
                clause = f"{manner} {clause}"
            else:
                clause = f"{clause} {manner}"
        if scene.place:
            place = self.modifier(domain, scene.place)
            clause = f"{place} {clause}" if self.pick("place first", 4) == 0 else f"{clause} {place}"
        return clause

    def _finite(self, scene: Scene, form: VerbForm, patient: str) -> str:
        """The verb group of the active voice with its patient."""
        many, tense = scene.agent.plural, scene.tense
        way = self.pick("aspect", 4)
        if scene.negated:
            if way == 3:
                now = "fail to" if many else "fails to"
                helper = {"past": "failed to", "future": "will fail to", "present": now}[tense]
                return self.predicate(form, f"{helper} {form.base}", patient)
            short = way == 1
            if tense == "future":
                helper = "won't" if short else "will not"
                return self.predicate(form, f"{helper} {form.base}", patient)
            if way < 2:
                helper = "did" if tense == "past" else "do" if many else "does"
                no = "n't" if short else " not"
                return self.predicate(form, f"{helper}{no} {form.base}", patient)
            be = _be(many, tense)
            return self.predicate(form, f"{be} not {form.gerund}", patient)
        if tense == "future":
            helper = "will" if way < 3 else "are going to" if many else "is going to"
            return self.predicate(form, f"{helper} {form.base}", patient)
        if way < 2:
            inflected = form.past if tense == "past" else form.base if many else form.third
            return self.predicate(form, inflected, patient)
        return self.predicate(form, f"{_be(many, tense)} {form.gerund}", patient)

    def _passive(self, scene: Scene, form: VerbForm, agent: str, patient: str) -> str:
        assert scene.patient is not None
        many, tense = scene.patient.plural, scene.tense
        participle = f"{form.participle}{form.before}{form.after}"
        no = " not" if scene.negated else ""
        if tense == "future":
            return f"{patient} will{no} be {participle} by {agent}"
        being = " being" if tense == "present" and self.pick("aspect", 4) > 1 else ""
        return f"{patient} {_be(many, tense)}{no}{being} {participle} by {agent}"

    def _headline(self, domain: Domain, scene: Scene) -> str:
        """Newspaper style: no determiners, no copula, ``to`` for the future."""
        form = self.verb(domain, scene.verb)
        agent = self.noun_phrase(domain, scene.agent, bare=True)
        patient = self.noun_phrase(domain, scene.patient, bare=True) if scene.patient else ""
        many, tense, way = scene.agent.plural, scene.tense, self.pick("aspect", 4)
        if patient and self.pick("shape", 10) < 3:
            lead = {"present": "", "past": "was ", "future": "to be "}[tense]
            no = "not " if scene.negated else ""
            clause = f"{patient} {no}{lead}{form.participle}{form.before}{form.after} by {agent}"
        elif scene.negated:
            helper = {
                "present": ("do not" if many else "does not", "fail to" if many else "fails to"),
                "past": ("did not", "failed to"),
                "future": ("will not", "not to"),
            }[tense][way > 1]
            clause = f"{agent} {self.predicate(form, f'{helper} {form.base}', patient)}"
        else:
            now = form.base if many else form.third
            inflected = {"present": now, "past": form.past, "future": f"to {form.base}"}[tense]
            clause = f"{agent} {self.predicate(form, inflected, patient)}"
        return self._with_modifiers(domain, scene, clause)

    # -- fragments --------------------------------------------------------------------------------------------------

    def fragment(self, domain: Domain, part: Entity | Scene | str) -> str:
        """A phrase: of an entity, of a scene (its verb and patient), or of one concept by name."""
        if isinstance(part, Entity):
            if self.pick("bare", 3):
                return self.noun_phrase(domain, part, bare=True)
            return f"the {self.noun_phrase(domain, part, bare=True)}"
        if isinstance(part, Scene):
            form = self.verb(domain, part.verb)
            inflected = (form.base, form.gerund, form.third, f"to {form.base}")[self.pick("form", 4)]
            if part.negated:
                inflected = (f"not {form.base}", f"not {form.gerund}", f"does not {form.base}", f"fail to {form.base}")[
                    self.pick("form", 4)
                ]
            elif part.tense == "past":
                perfect = (f"has {form.participle}", f"had {form.participle}")
                inflected = (form.past, *perfect, form.past)[self.pick("form", 4)]
            patient = ""
            if part.patient is not None:
                patient = self.noun_phrase(domain, part.patient, bare=True)
                if self.pick("bare", 2):
                    patient = f"the {patient}"
            return self.predicate(form, inflected, patient)
        return self.modifier(domain, part)


def _who(domain: Domain, entity: Entity) -> str:
    return "who" if domain.concepts[entity.noun].path[1] == "person" else "that"


def _be(plural: bool, tense: str) -> str:
    if tense == "past":
        return "were" if plural else "was"
    return "are" if plural else "is"
