package features;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** JSON, and values of features in it. Numbers are BigDecimal until their type is known, and -0.0. */
final class SvcJson {
  private static final int DEEPEST = 200;

  private final String text;
  private int at = 0;

  private SvcJson(String text) {
    this.text = text;
  }

  /** The value of a text. Throws IllegalArgumentException. */
  static Object parse(String text) {
    SvcJson reader = new SvcJson(text);
    Object value = reader.value(0);
    reader.blanks();
    if (reader.at < text.length()) {
      throw reader.wrong();
    }
    return value;
  }

  private Object value(int depth) {
    blanks();
    if (at >= text.length() || depth > DEEPEST) {
      throw wrong();
    }
    char first = text.charAt(at);
    if (first == '{') {
      return object(depth);
    }
    if (first == '[') {
      return array(depth);
    }
    if (first == '"') {
      return string();
    }
    for (String word : List.of("null", "true", "false")) {
      if (text.startsWith(word, at)) {
        at += word.length();
        return word.equals("null") ? null : (Object) word.equals("true");
      }
    }
    int start = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    if (at == start || at - start > 1000) {
      throw wrong();
    }
    String number = text.substring(start, at);
    BigDecimal value = new BigDecimal(number);
    // The only number that BigDecimal does not have.
    return value.signum() == 0 && number.startsWith("-") ? (Object) (-0.0) : value;
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> members = new LinkedHashMap<>();
    at++;
    blanks();
    if (take('}')) {
      return members;
    }
    do {
      blanks();
      String name = string();
      blanks();
      if (!take(':')) {
        throw wrong();
      }
      members.put(name, value(depth + 1));
      blanks();
    } while (take(','));
    if (!take('}')) {
      throw wrong();
    }
    return members;
  }

  private List<Object> array(int depth) {
    List<Object> items = new ArrayList<>();
    at++;
    blanks();
    if (take(']')) {
      return items;
    }
    do {
      items.add(value(depth + 1));
      blanks();
    } while (take(','));
    if (!take(']')) {
      throw wrong();
    }
    return items;
  }

  private String string() {
    if (!take('"')) {
      throw wrong();
    }
    StringBuilder read = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') {
        return read.toString();
      }
      if (c != '\\') {
        read.append(c);
        continue;
      }
      if (at >= text.length()) {
        break;
      }
      char escaped = text.charAt(at++);
      int known = "\"\\/bfnrt".indexOf(escaped);
      if (known >= 0) {
        read.append("\"\\/\b\f\n\r\t".charAt(known));
      } else if (escaped == 'u' && at + 4 <= text.length()) {
        read.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
        at += 4;
      } else {
        break;
      }
    }
    throw wrong();
  }

  private void blanks() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    boolean found = at < text.length() && text.charAt(at) == c;
    at += found ? 1 : 0;
    return found;
  }

  private IllegalArgumentException wrong() {
    return new IllegalArgumentException("no JSON at character " + at);
  }

  /** The text of a value, of maps, lists, texts, numbers, booleans and null. */
  static String write(Object value) {
    StringBuilder out = new StringBuilder();
    write(value, out);
    return out.toString();
  }

  private static void write(Object value, StringBuilder out) {
    if (value instanceof Map) {
      out.append('{');
      String separator = "";
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        out.append(separator);
        write(member.getKey(), out);
        out.append(':');
        write(member.getValue(), out);
        separator = ",";
      }
      out.append('}');
    } else if (value instanceof Collection) {
      out.append('[');
      String separator = "";
      for (Object item : (Collection<?>) value) {
        out.append(separator);
        write(item, out);
        separator = ",";
      }
      out.append(']');
    } else if (value == null || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof Number) {
      out.append(value instanceof BigDecimal ? ((BigDecimal) value).toPlainString() : value.toString());
    } else {
      out.append('"');
      for (char c : value.toString().toCharArray()) {
        if (c == '"' || c == '\\') {
          out.append('\\').append(c);
        } else if (c < ' ' || Character.isSurrogate(c)) {
          out.append(String.format("\\u%04x", (int) c));
        } else {
          out.append(c);
        }
      }
      out.append('"');
    }
  }

  /** A value in the form that JSON has it in. */
  static Object encode(Object value) {
    if (value instanceof SvcEnum) {
      return encode(((SvcEnum) value).value());
    }
    if (value instanceof Double && !Double.isFinite((Double) value)) {
      return Map.of("$float", value.toString());
    }
    if (value instanceof byte[]) {
      return Base64.getEncoder().encodeToString((byte[]) value);
    }
    if (value instanceof Duration) {
      Duration length = (Duration) value;
      BigDecimal seconds = BigDecimal.valueOf(length.getSeconds()).add(BigDecimal.valueOf(length.getNano(), 9));
      return seconds.setScale(6, RoundingMode.HALF_EVEN).toPlainString() + "s";
    }
    if (value instanceof BigDecimal) {
      return value.toString();
    }
    if (value instanceof Collection) {
      List<Object> items = new ArrayList<>();
      for (Object item : (Collection<?>) value) {
        items.add(encode(item));
      }
      return items;
    }
    if (value instanceof Map) {
      Map<String, Object> members = new LinkedHashMap<>();
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        members.put(String.valueOf(member.getKey()), encode(member.getValue()));
      }
      return members;
    }
    if (value != null && !members(value.getClass()).isEmpty()) {
      boolean isRow = value.getClass().isAnnotationPresent(SvcName.class);
      Map<String, Object> members = new LinkedHashMap<>();
      members(value.getClass())
          .forEach(
              (name, field) -> {
                Object own = get(field, value);
                if (own != null || !isRow) {
                  members.put(name, encode(own));
                }
              });
      return members;
    }
    return value instanceof Instant || value instanceof LocalDate ? value.toString() : value;
  }

  /** The value of a type that JSON stands for. Throws IllegalArgumentException. */
  static Object decode(Object raw, Type type) {
    if (raw == null) {
      return null;
    }
    if (type instanceof ParameterizedType) {
      ParameterizedType of = (ParameterizedType) type;
      if (!(raw instanceof List)) {
        throw unfit(raw, type);
      }
      Collection<Object> items = of.getRawType() == List.class ? new ArrayList<>() : new LinkedHashSet<>();
      for (Object item : (List<?>) raw) {
        items.add(decode(item, of.getActualTypeArguments()[0]));
      }
      return items;
    }
    Class<?> wanted = (Class<?>) type;
    if (wanted == Object.class) {
      return plain(raw);
    }
    if (wanted.isEnum()) {
      for (Object constant : wanted.getEnumConstants()) {
        Object value = ((SvcEnum) constant).value();
        boolean isNumber = raw instanceof BigDecimal && value instanceof Number;
        if (isNumber ? ((BigDecimal) raw).compareTo(new BigDecimal(value.toString())) == 0 : raw.equals(value)) {
          return constant;
        }
      }
      throw unfit(raw, type);
    }
    if (raw instanceof Map && wanted == Double.class) {
      return Double.valueOf(String.valueOf(((Map<?, ?>) raw).get("$float")));
    }
    if (raw instanceof Map) {
      return decodeObject((Map<?, ?>) raw, wanted);
    }
    return decodeScalar(raw, wanted);
  }

  private static Object decodeScalar(Object raw, Class<?> wanted) {
    String said = raw.toString();
    if (wanted == String.class) {
      return said;
    }
    if (wanted == Boolean.class && raw instanceof Boolean) {
      return raw;
    }
    if (wanted == Long.class && (raw instanceof Number || raw instanceof String)) {
      return new BigDecimal(said).longValueExact();
    }
    if (wanted == Double.class && raw instanceof Number) {
      return ((Number) raw).doubleValue();
    }
    if (wanted == BigDecimal.class) {
      return new BigDecimal(said);
    }
    if (wanted == byte[].class) {
      return Base64.getDecoder().decode(said);
    }
    if (wanted == Instant.class) {
      return Instant.parse(said);
    }
    if (wanted == LocalDate.class) {
      return LocalDate.parse(said);
    }
    if (wanted == Duration.class) {
      BigDecimal seconds = new BigDecimal(said.endsWith("s") ? said.substring(0, said.length() - 1) : said);
      return lengthOf(seconds);
    }
    throw unfit(raw, wanted);
  }

  private static Duration lengthOf(BigDecimal seconds) {
    BigDecimal whole = seconds.setScale(0, RoundingMode.FLOOR);
    return Duration.ofSeconds(whole.longValueExact(), seconds.subtract(whole).movePointRight(9).longValue());
  }

  /** An instance with the members of an object, by their names or the last step of their paths. */
  private static Object decodeObject(Map<?, ?> raw, Class<?> wanted) {
    try {
      Object made = wanted.getDeclaredConstructor().newInstance();
      Map<String, Field> fields = members(wanted);
      for (Map.Entry<?, ?> member : raw.entrySet()) {
        String name = member.getKey().toString();
        Field field = fields.get(name.substring(name.lastIndexOf('.') + 1));
        if (field != null) {
          field.set(made, decode(member.getValue(), field.getGenericType()));
        }
      }
      return made;
    } catch (ReflectiveOperationException error) {
      throw unfit(raw, wanted);
    }
  }

  /** Sets the members of a row to the values of a tree; lists stay where the tree has columns. */
  static void fill(Object row, Map<?, ?> tree) {
    Map<String, Field> fields = members(row.getClass());
    for (Map.Entry<?, ?> member : tree.entrySet()) {
      Field field = fields.get(member.getKey());
      boolean isColumns = member.getValue() instanceof Tree && field != null && field.getType() == List.class;
      if (field != null && !isColumns) {
        try {
          Object own = field.get(row);
          if (member.getValue() instanceof Tree && own == null) {
            own = field.getType().getDeclaredConstructor().newInstance();
            field.set(row, own);
          }
          if (member.getValue() instanceof Tree) {
            fill(own, (Tree) member.getValue());
          } else {
            field.set(row, decode(member.getValue(), field.getGenericType()));
          }
        } catch (ReflectiveOperationException error) {
          throw unfit(member.getValue(), field.getGenericType());
        }
      }
    }
  }

  /** Values by the steps of their paths. */
  static final class Tree extends LinkedHashMap<String, Object> {
    private static final long serialVersionUID = 1;

    void plant(String path, Object value) {
      int dot = path.indexOf('.');
      if (dot < 0) {
        put(path, value);
        return;
      }
      Object below = get(path.substring(0, dot));
      if (below != null && !(below instanceof Tree)) {
        return;
      }
      Tree tree = below == null ? new Tree() : (Tree) below;
      put(path.substring(0, dot), tree);
      tree.plant(path.substring(dot + 1), value);
    }
  }

  private static Map<String, Field> members(Class<?> owner) {
    Map<String, Field> fields = new LinkedHashMap<>();
    for (Field field : owner.getDeclaredFields()) {
      SvcName name = field.getAnnotation(SvcName.class);
      if (name != null && !Modifier.isStatic(field.getModifiers())) {
        fields.put(name.value(), field);
      }
    }
    return fields;
  }

  private static Object get(Field field, Object owner) {
    try {
      return field.get(owner);
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }

  /** A value as Java has it by itself: whole numbers are Long, others Double. */
  private static Object plain(Object raw) {
    if (raw instanceof BigDecimal) {
      BigDecimal number = (BigDecimal) raw;
      boolean isWhole = number.scale() <= 0 && number.precision() - number.scale() <= 18;
      return isWhole ? (Object) number.longValueExact() : (Object) number.doubleValue();
    }
    if (raw instanceof List) {
      List<Object> items = new ArrayList<>();
      for (Object item : (List<?>) raw) {
        items.add(plain(item));
      }
      return items;
    }
    if (raw instanceof Map) {
      Map<String, Object> members = new LinkedHashMap<>();
      ((Map<?, ?>) raw).forEach((name, value) -> members.put(String.valueOf(name), plain(value)));
      return members;
    }
    return raw;
  }

  private static IllegalArgumentException unfit(Object raw, Type type) {
    return new IllegalArgumentException(raw + " is no " + type.getTypeName() + ": generate the code anew");
  }
}
