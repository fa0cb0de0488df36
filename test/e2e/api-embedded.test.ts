/** The whole product in one process on SQLite, from outside. */
import { apiSuite } from './suite/api-suite.ts'

apiSuite('embedded')
