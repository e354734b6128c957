/** Every driver of the metadata store does what the suites of its nouns ask for. */

import { approvalsConformance } from "./approvals.conformance.ts";
import { auditConformance } from "./audit.conformance.ts";
import { datasetsConformance } from "./datasets.conformance.ts";
import { deletionsConformance } from "./deletions.conformance.ts";
import { deploymentsConformance } from "./deployments.conformance.ts";
import { documentsConformance } from "./documents.conformance.ts";
import { METADATA_DRIVERS, QUEUE_DRIVERS } from "./drivers.ts";
import { evaluationsConformance } from "./evaluations.conformance.ts";
import { functionsConformance } from "./functions.conformance.ts";
import { graphsConformance } from "./graphs.conformance.ts";
import { identityConformance } from "./identity.conformance.ts";
import { imageBuildsConformance } from "./image-builds.conformance.ts";
import { jobsConformance } from "./jobs.conformance.ts";
import { monitorsConformance } from "./monitors.conformance.ts";
import { nodesConformance } from "./nodes.conformance.ts";
import { notebooksConformance } from "./notebooks.conformance.ts";
import { offlineQueriesConformance } from "./offline-queries.conformance.ts";
import { processesConformance } from "./processes.conformance.ts";
import { projectsConformance } from "./projects.conformance.ts";
import { resolverRunsConformance } from "./resolver-runs.conformance.ts";
import { schedulesConformance } from "./schedules.conformance.ts";
import { seriesConformance } from "./series.conformance.ts";
import { sessionsConformance } from "./sessions.conformance.ts";
import { storeConformance } from "./store.conformance.ts";
import { streamsConformance } from "./streams.conformance.ts";
import { tasksConformance } from "./tasks.conformance.ts";
import { uploadsConformance } from "./uploads.conformance.ts";
import { usageConformance } from "./usage.conformance.ts";
import { valueUploadsConformance } from "./value-uploads.conformance.ts";
import { versionsConformance } from "./versions.conformance.ts";
import { workflowsConformance } from "./workflows.conformance.ts";

const SUITES = [
  storeConformance,
  identityConformance,
  seriesConformance,
  sessionsConformance,
  uploadsConformance,
  deploymentsConformance,
  graphsConformance,
  valueUploadsConformance,
  versionsConformance,
  jobsConformance,
  monitorsConformance,
  streamsConformance,
  nodesConformance,
  notebooksConformance,
  approvalsConformance,
  auditConformance,
  datasetsConformance,
  deletionsConformance,
  documentsConformance,
  processesConformance,
  usageConformance,
  schedulesConformance,
  offlineQueriesConformance,
  resolverRunsConformance,
  projectsConformance,
  evaluationsConformance,
  functionsConformance,
  imageBuildsConformance,
  tasksConformance,
  workflowsConformance,
];

for (const driver of METADATA_DRIVERS) for (const suite of SUITES) suite(driver);
for (const driver of QUEUE_DRIVERS) jobsConformance(driver);
