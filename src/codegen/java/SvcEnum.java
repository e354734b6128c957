package features;

/** An enum whose constants stand for values. */
interface SvcEnum {
  /** The value: text, a Long, a Double or a Boolean. */
  Object value();
}
