package features;

import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Names a feature whose values are of type T. As an output it asks for the feature.
 *
 * @param <T> the type of its values
 */
public final class Feature<T> {
  private final String name;
  private final Class<?> owner;
  private final String member;

  Feature(String name, Class<?> owner, String member) {
    this.name = name;
    this.owner = owner;
    this.member = member;
  }

  /** The feature with a name, of whatever type; it may be a class too. */
  public static Feature<Object> named(String name) {
    return new Feature<>(name, null, null);
  }

  /** The fully qualified name, or the path from the class that is asked for. */
  public String name() {
    return name;
  }

  /** The value in an answer; null where it is null, or failed. */
  public T in(SvcClient.Result result) {
    return decode(result.value(name));
  }

  /** The values in the answer to a bulk query, one a row; null where they are null, or failed. */
  public List<T> in(SvcClient.BulkResult result) {
    List<T> values = new ArrayList<>();
    for (Object raw : result.column(name)) {
      values.add(decode(raw));
    }
    return values;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Feature && ((Feature<?>) other).name.equals(name);
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }

  @Override
  public String toString() {
    return name;
  }

  @SuppressWarnings("unchecked")
  private T decode(Object raw) {
    try {
      Type type = owner == null ? Object.class : owner.getField(member).getGenericType();
      return (T) SvcJson.decode(raw, type);
    } catch (NoSuchFieldException | IllegalArgumentException error) {
      throw new SvcException("unexpected_answer", "the value of " + name + " does not fit: " + error.getMessage());
    }
  }
}
