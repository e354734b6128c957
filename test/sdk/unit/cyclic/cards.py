from cyclic.users import User
from svc.features import features


@features
class Card:
    id: int
    holder: User.id
