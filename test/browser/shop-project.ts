/** A project with relations, a window, a resolver that fails, named queries and a chain of resolvers. */

import type { TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";

const FILES = {
  "features.py": `from svc import NamedQuery, online
from svc.features import DataFrame, Features, FeatureTime, Windowed, _, feature, features, windowed


@features(owner="shop@example.com", tags=["core"])
class Account:
    id: int
    title: str


@features
class Order:
    id: int
    user_id: "User.id"
    at: FeatureTime
    amount: float
    tax: float
    # Amount without its tax
    net: float = _.amount - _.tax


@features(owner="shop@example.com")
class User:
    id: int
    name: str = feature(max_staleness="1h")
    account_id: Account.id
    account: Account
    orders: DataFrame[Order]
    # Sum of the net amounts within the window
    spent: Windowed[float] = windowed("1d", "30d", expression=_.orders[_.net, _.at > _.svc_window].sum())
    greeting: str
    # Always fails
    credit: int


@online
def get_user(id: User.id) -> Features[User.name, User.account_id]:
    print("looking up", id)
    return "Ada" if id == 1 else f"user {id}", 10 + id


@online
def get_account(id: Account.id) -> Account.title:
    return f"account {id}"


@online
def get_orders(id: User.id) -> User.orders[Order.id, Order.user_id, Order.at, Order.amount, Order.tax]:
    from datetime import datetime, timezone

    at = datetime(2024, 5, 1, tzinfo=timezone.utc)
    return [Order(id=n, user_id=id, at=at, amount=10.0 * n, tax=1.0) for n in range(1, 4)]


@online(owner="greeters@example.com")
def greet(name: User.name, title: User.account.title) -> User.greeting:
    """Greets somebody by name and account."""
    return "Good day, " + name + " of " + title


@online
def get_credit(id: User.id) -> User.credit:
    raise ValueError(f"no credit for {id}")


NamedQuery(
    name="greeting",
    version="1.0.0",
    input=[User.id],
    output=[User.greeting],
    staleness={User.name: "10m"},
    owner="greeters@example.com",
    description="What the shop says",
)
NamedQuery(name="spending", input=[User.id], output=[User.name, User.orders])
`,
};

interface Deploying {
  readonly branch?: string;
  readonly change?: (text: string) => string;
}

/**
 * Deploys the project, to a branch or with a change of its text. Returns the deployment's id.
 */
export async function deployShop(server: TestServer, { branch = "", change = (text) => text }: Deploying = {}): Promise<string> {
  const deployment = await deploy(server, { "features.py": change(FILES["features.py"]) }, { branch });
  expectLive(deployment);
  return deployment.id;
}
