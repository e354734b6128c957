import type { VerifyAuditLogResponse } from "../../../gen/svc/v1/audit_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

/** What the server found, and the hash that was noted earlier. */
interface Verified {
  readonly answer: VerifyAuditLogResponse;
  readonly noted: string | undefined;
}

export default defineCommand({
  summary: "Check that nobody changed the audit log",
  description:
    "Reads every row and checks its SHA-256, which covers the row and the hash of the row before: a row that was edited, removed, added or moved is found. " +
    "Who may write the database can also rewrite all rows from one on, with new hashes. To find that out, keep the printed hash elsewhere and give it to " +
    "--noted-hash later; the server's log has it once an hour too. The exit code is 1 when something was changed.",
  examples: ["svc audit verify", { run: "svc audit verify --json", does: "With the hash to note, for --noted-hash next time" }],
  needs: ["session"],
  flags: { notedHash: text("hash that the log had earlier", { aliases: ["--head"], placeholder: "<hash>" }) },
  check({ notedHash }) {
    if (notedHash !== undefined && !/^[0-9a-f]{64}$/.test(notedHash)) throw new UsageError("--noted-hash has 64 lower-case hex digits");
  },
  async run({ api }, { notedHash }): Promise<Verified> {
    return { answer: await (await api.audit()).verifyAuditLog({ notedHash: notedHash ?? "" }), noted: notedHash };
  },
  exitCode: (verified) => (isSound(verified) ? 0 : 1),
  view: textView(
    ({ answer, noted }: Verified) => {
      const { rows, headSeq, headHash, brokenSeq, brokenReason, prunedSeq, hasNotedHash } = answer;
      const lines = [
        brokenSeq > 0n
          ? `Row ${brokenSeq} is not as it was written: ${brokenReason}. ${rows} rows before it are.`
          : `${rows} ${rows === 1n ? "row is" : "rows are"} as written.`,
        `Head: row ${headSeq}, ${headHash}`,
      ];
      if (prunedSeq > 0n) lines.push(`Rows up to ${prunedSeq} were removed by retention.`);
      if (noted !== undefined) lines.push(hasNotedHash ? "The noted hash is in the log." : "The noted hash is not in the log.");
      return lines.join("\n");
    },
    ({ answer, noted }) => ({
      sound: isSound({ answer, noted }),
      rows: answer.rows,
      head_seq: answer.headSeq,
      head_hash: answer.headHash,
      broken_seq: answer.brokenSeq === 0n ? null : answer.brokenSeq,
      broken_reason: answer.brokenReason || null,
      pruned_seq: answer.prunedSeq,
      has_noted_hash: noted === undefined ? null : answer.hasNotedHash,
    }),
  ),
});

function isSound({ answer, noted }: Verified): boolean {
  return answer.brokenSeq === 0n && (noted === undefined || answer.hasNotedHash);
}
