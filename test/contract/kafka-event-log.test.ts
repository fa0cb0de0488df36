/** The event log contract on a real broker. */

import { skipWithoutInfra } from '#test/support/live-infra.ts'
import { eventLogContract } from './event-log.ts'
import { makeKafkaWorld } from './kafka-world.ts'

eventLogContract('Kafka', makeKafkaWorld, skipWithoutInfra)
