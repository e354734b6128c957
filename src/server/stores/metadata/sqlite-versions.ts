import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import type { InsertDeletion } from "./sqlite-deletions.ts";
import type { FeatureIdentity, FeatureKey, KnownVersion, VersionStore } from "./versions.ts";

/** Ends a step that would keep too many deletions, so that nothing of it stays. */
class TooManyDeletions extends Error {}

/** Feature identities and resolver versions of the SQLite driver. */
export function sqliteVersions(db: Database, writer: Writer, insertDeletion: InsertDeletion): VersionStore {
  const findFeature = (environmentId: string, fqn: string, dtype: string): FeatureIdentity | undefined =>
    db
      .query<FeatureIdentity, [string, string, string]>(
        "select id, internal_version as internalVersion from feature where environment_id = ? and fqn = ? and dtype = ? and ended_at is null",
      )
      .get(environmentId, fqn, dtype) ?? undefined;

  /** Begins the next version of a feature, unless one of the type is in use. */
  const begin = (environmentId: string, { fqn, dtype }: FeatureKey, now: number): FeatureIdentity => {
    db.query(
      `insert into feature (environment_id, fqn, internal_version, dtype, created_at)
       select ?1, ?2, coalesce(max(internal_version), 0) + 1, ?3, ?4 from feature where environment_id = ?1 and fqn = ?2
       on conflict (environment_id, fqn, dtype) where ended_at is null do nothing`,
    ).run(environmentId, fqn, dtype, now);
    return findFeature(environmentId, fqn, dtype) as FeatureIdentity;
  };

  const idsOf = (environmentId: string, fqn: string, which = ""): number[] =>
    db
      .query<{ id: number }, [string, string]>(`select id from feature where environment_id = ? and fqn = ? ${which} order by id`)
      .all(environmentId, fqn)
      .map(({ id }) => id);

  const findVersion = (environmentId: string, fqn: string, sourceSha256: string): number | undefined =>
    db
      .query<{ version: number }, [string, string, string]>(
        "select version from resolver_version where environment_id = ? and fqn = ? and source_sha256 = ?",
      )
      .get(environmentId, fqn, sourceSha256)?.version;

  const nextVersion = (environmentId: string, fqn: string): number =>
    (db
      .query<{ last: number | null }, [string, string]>(
        "select max(version) as last from resolver_version where environment_id = ? and fqn = ?",
      )
      .get(environmentId, fqn)?.last ?? 0) + 1;

  return {
    async featureIdentities(environmentId, features, now) {
      const identities = new Map<string, FeatureIdentity>();
      const missing = features.filter(({ fqn, dtype }) => {
        const identity = findFeature(environmentId, fqn, dtype);
        if (identity) identities.set(fqn, identity);
        return !identity;
      });
      if (missing.length === 0) return identities;
      await writer.write(() => {
        for (const one of missing) identities.set(one.fqn, begin(environmentId, one, now));
      });
      return identities;
    },

    endVersions: ({ environmentId, features, isDropped }, deletion, mostKeys) =>
      writer
        .write(() => {
          const { createdAt } = deletion;
          const known = features.filter(({ fqn }) => idsOf(environmentId, fqn).length > 0);
          const ended = known.flatMap(({ fqn }) => idsOf(environmentId, fqn, "and ended_at is null"));
          const dropped = isDropped ? known.flatMap(({ fqn }) => idsOf(environmentId, fqn)) : [];
          for (const id of ended) db.query("update feature set ended_at = ? where id = ?").run(createdAt, id);
          const begun = known.map((one) => ({ ...one, ...begin(environmentId, one, createdAt) }));
          const made = { ...deletion, versions: { ended, dropped, begun } };
          if (insertDeletion(made, mostKeys)) return made;
          throw new TooManyDeletions();
        })
        .catch((error: unknown) => {
          if (error instanceof TooManyDeletions) return "full" as const;
          throw error;
        }),

    async knownFeatures(environmentId) {
      return db
        .query<Omit<KnownVersion, "isEnded"> & { readonly endedAt: number | null }, [string]>(
          `select id, fqn, dtype, internal_version as internalVersion, ended_at as endedAt from feature where environment_id = ? order by id`,
        )
        .all(environmentId)
        .map(({ endedAt, ...version }) => ({ ...version, isEnded: endedAt !== null }));
    },

    async featureOwners() {
      const rows = db.query<{ id: number; environmentId: string }, []>("select id, environment_id as environmentId from feature").all();
      return new Map(rows.map(({ id, environmentId }) => [id, environmentId]));
    },

    async resolverVersions(environmentId, resolvers, record) {
      const versions = new Map<string, number>();
      const unseen = resolvers.filter(({ fqn, sourceSha256 }) => {
        const version = findVersion(environmentId, fqn, sourceSha256);
        versions.set(fqn, version ?? nextVersion(environmentId, fqn));
        return version === undefined;
      });
      if (!record || unseen.length === 0) return versions;
      await writer.write(() => {
        for (const { fqn, sourceSha256 } of unseen) {
          const version = findVersion(environmentId, fqn, sourceSha256) ?? nextVersion(environmentId, fqn);
          db.query(
            `insert into resolver_version (environment_id, fqn, source_sha256, version, deployment_id, created_at) values (?, ?, ?, ?, ?, ?)
             on conflict do nothing`,
          ).run(environmentId, fqn, sourceSha256, version, record.deploymentId, record.now);
          versions.set(fqn, version);
        }
      });
      return versions;
    },
  };
}
