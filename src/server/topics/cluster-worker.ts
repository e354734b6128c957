/**
 * Worker thread with the client of one Kafka cluster: the library is loaded here alone, unpacking
 * and checksums delay no query, and what a broker answers harms no more than this thread.
 */

import { serve } from "../thread/rpc.ts";
import { KafkaClient } from "./kafka-client.ts";
import type { KafkaCluster } from "./kafka-settings.ts";

serve<KafkaClient, KafkaCluster>({ make: (cluster) => new KafkaClient(cluster), close: (client) => client.close() });
