from enum import Enum

from svc.features import features

from cyclic.users import User


class Level(Enum):
    LOW = 1
    HIGH = 2


@features
class Account:
    id: str
    user_id: User.id
    user: User
