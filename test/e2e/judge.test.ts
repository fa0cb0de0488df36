/** Semantic conditions on SQLite, from outside. */
import { judgeSuite } from './suite/judge-suite.ts'

judgeSuite('embedded')
