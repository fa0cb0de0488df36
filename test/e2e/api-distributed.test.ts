/** The same product on real Kafka, Redis and schema registry, from outside. */
import { skipWithoutInfra } from '#test/support/live-infra.ts'
import { apiSuite } from './suite/api-suite.ts'

apiSuite('distributed', skipWithoutInfra)
