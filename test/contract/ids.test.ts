import { systemIds } from '#kernel/adapters/system/system-clock.ts'
import { idsContract } from './ids.ts'

idsContract('system', () => systemIds)
