/**
 * What a pod finds of its network: a script for an image with busybox's programs, which connects to
 * the cluster's API at its service address and to the pod's name server, and says by its exit code
 * what it reached.
 */

/** An image with `sh` and a `nc` as busybox has it. */
export const PROBE_IMAGE = "docker.io/library/busybox:1.36";

/** How a pod is probed. */
interface Probe {
  /**
   * `reach` ends once all is reached, `cut` once nothing was in rounds one after the other, and
   * `hold` as `cut`, with code 0.
   */
  readonly wants: "reach" | "cut" | "hold";
  /** Rounds in a row that count. */
  readonly inRow: number;
  /** Rounds after which it ends, whatever was found. */
  readonly most: number;
  /** Seconds for a connection. */
  readonly seconds: number;
}

/** A pod without the policy: it has as long as another needs for its network. */
export const CONTROL: Probe = { wants: "reach", inRow: 1, most: 15, seconds: 2 };
/** A pod under the policy: plugins take some seconds until they keep it, or to set a network up. */
export const TRIED: Probe = { wants: "cut", inRow: 5, most: 30, seconds: 2 };
/** A sandbox before its program begins: where a policy is kept, it may be kept of this pod late. */
export const HELD: Probe = { wants: "hold", inRow: 2, most: 30, seconds: 1 };

/** Exit code of a pod that reached nothing; a bit more is a place that it reached. */
const NOTHING = 10;
const API = 1;
const NAMES = 2;
const NO_TOOL = 3;

const SCRIPT = `wants=$0 in_row=$1 left=$2 seconds=$3
names=
while read -r key value rest; do
  if [ "$key" = nameserver ]; then names=$value; break; fi
done < /etc/resolv.conf
reaches() {
  nc -w "$seconds" "$1" "$2" -e true < /dev/null > /dev/null 2>&1
  case $? in 0) return 0 ;; 1) return 1 ;; *) exit ${NO_TOOL} ;; esac
}
row=0 last=0
while [ "$left" -gt 0 ]; do
  found=0
  if reaches "$KUBERNETES_SERVICE_HOST" "\${KUBERNETES_SERVICE_PORT:-443}"; then found=${API}; fi
  if [ -n "$names" ] && reaches "$names" 53; then found=$((found + ${NAMES})); fi
  if [ "$wants" = reach ]; then
    last=$((last | found))
    if [ "$last" = ${API + NAMES} ]; then break; fi
  elif [ "$found" = 0 ]; then
    row=$((row + 1))
    if [ "$row" -ge "$in_row" ]; then
      if [ "$wants" = hold ]; then exit 0; fi
      exit ${NOTHING}
    fi
  else
    row=0 last=$found
  fi
  left=$((left - 1))
  sleep 1
done
exit $((${NOTHING} + last))
`;

/** The words of a probe's program. */
export function probeCommand({ inRow, most, seconds, wants }: Probe): readonly string[] {
  return ["/bin/sh", "-c", SCRIPT, wants, String(inRow), String(most), String(seconds)];
}

/** What a probe found. */
export interface Found {
  /** Whether it reached the cluster's API. */
  readonly api: boolean;
  /** What it reached, in words; empty = nothing. */
  readonly words: string;
}

/** What an exit code says; undefined = the probe came to no result. */
export function foundBy(exitCode: number | undefined): Found | undefined {
  const bits = (exitCode ?? 0) - NOTHING;
  if (!(bits >= 0 && bits <= API + NAMES)) return undefined;
  const places = [...(bits & API ? ["the cluster's API at its service address"] : []), ...(bits & NAMES ? ["its name server"] : [])];
  return { api: (bits & API) !== 0, words: places.join(" and ") };
}

/** Whether an exit code says that the image lacks what a probe needs. */
export function lacksTools(exitCode: number | undefined): boolean {
  return exitCode === NO_TOOL || exitCode === 126 || exitCode === 127;
}
