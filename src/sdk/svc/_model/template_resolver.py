"""The resolvers of features that templates make."""

from __future__ import annotations

from .field import Field
from .field_resolver import FieldResolver
from .resolver import ResolverOptions
from .template import JinjaTemplate


class TemplateDefinition(FieldResolver):
    """The resolver of a feature that a template makes."""

    what = "a template makes it"

    def __init__(self, field: Field, template: JinjaTemplate) -> None:
        scope = field.owner_class.scope
        super().__init__(field, lambda *values: template.render(values, scope), ResolverOptions(), template.parameters(scope))
        self.template = template

    @property
    def description(self) -> str:
        return "Renders a template."
