package features;

import java.util.List;

/** A call that was not answered, or refused as a whole. */
public final class SvcException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;
  private final int status;
  private final transient List<SvcClient.ErrorDetail> errors;

  SvcException(String code, String message) {
    this(code, message, 0, List.of(), null);
  }

  SvcException(String code, String message, int status, List<SvcClient.ErrorDetail> errors, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.status = status;
    this.errors = errors;
  }

  /**
   * What kind of failure it is: unauthenticated, invalid_argument, unavailable, deadline_exceeded, or
   * another code of the server.
   */
  public String code() {
    return code;
  }

  /** The status of HTTP; 0 when there was no answer. */
  public int status() {
    return status;
  }

  /** The single problems of a query. */
  public List<SvcClient.ErrorDetail> errors() {
    return errors == null ? List.of() : errors;
  }
}
