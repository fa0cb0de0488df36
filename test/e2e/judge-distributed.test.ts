/** Semantic conditions on Kafka and Redis, from outside. */
import { skipWithoutInfra } from '#test/support/live-infra.ts'
import { judgeSuite } from './suite/judge-suite.ts'

judgeSuite('distributed', skipWithoutInfra)
