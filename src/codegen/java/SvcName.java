package features;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The name that a class or a member has on the server. */
@Retention(RetentionPolicy.RUNTIME)
@interface SvcName {
  String value();
}
