/** How the processes of a command in a container are found and killed, whatever the engine. */

/** The variable by which the processes of a command are found. */
export const MARK = "SVC_EXEC";
/**
 * Kills processes by the mark in their environment, again while there are new ones. What a shell
 * does by itself is enough for it: images need no programs.
 */
export const KILL_MARKED = `for round in 1 2 3; do
  for p in /proc/[0-9]*; do
    while IFS= read -r e || [ -n "$e" ]; do
      case $e in *"${MARK}=$1"*) kill -KILL "\${p#/proc/}"; break;; esac
    done < "$p/environ"
  done
done 2>/dev/null`;
