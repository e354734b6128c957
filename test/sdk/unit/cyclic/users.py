from __future__ import annotations

from typing import TYPE_CHECKING

from svc.features import features, has_one

if TYPE_CHECKING:
    import cyclic.cards as cards

    from .accounts import Account as UserAccount, Level


@features
class User:
    id: int
    level: Level
    account_id: UserAccount.id | None
    account: UserAccount | None
    card: cards.Card = has_one(lambda: cards.Card.holder == User.id)
