/** Wiring of the judge: lanes of candidates, a model or words, and the budgets between them. */
import type { Configuration } from '#kernel/host/configuration.ts'
import type { Directory } from '#kernel/host/directory.ts'
import { createEventReader } from '#kernel/host/event-reader.ts'
import { type JudgingModel, openJudgingModel } from '#kernel/host/judging-model.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { type RunningStep, runStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { createCallsUnderWay } from './judge/calls-under-way.ts'
import type { JudgeSettings } from './judge/judge-settings.ts'
import { createJudgeStep, type JudgeStepOptions } from './judge/judge-step.ts'
import { createTrialJudgeStep } from './judge/trial-judge-step.ts'
import { type BatchWorld, judgeBatch } from './judge-batch-worker.ts'
import { type CallWorld, createJudgeCaller } from './judge-call-worker.ts'
import { judgeTrials } from './judge-trial-worker.ts'

export interface JudgeWorld extends StepWorld {
  codec: RecordCodec
  directory: Pick<Directory, 'subscription' | 'policy' | 'agent' | 'tenant'>
  /** Decodes a producer's Avro value by its registry id; absent without a registry. */
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
  onCall?: CallWorld['onCall']
  onState?: CallWorld['onState']
}

/** Starts judging candidates and dry runs; resolves once subscribed. */
export async function startJudge(
  world: JudgeWorld,
  settings: JudgeSettings,
): Promise<RunningStep[]> {
  const { codec, directory, store, clock, ids, logger, onCall, onState, log } = world
  const reader = createEventReader(world)
  const { model } = settings
  const caller = model
    ? createJudgeCaller({ settings: { ...settings, model }, clock, ids, logger, onCall, onState })
    : undefined
  const batchWorld: BatchWorld = {
    ...{ directory, store, clock, settings, caller, codec, underWay: createCallsUnderWay() },
    readBodies: refs => reader.readBodies(log, refs),
  }
  logger.info({ models: settings.names }, 'judging')
  const work: JudgeStepOptions['work'] = batch => judgeBatch(batchWorld, batch)
  const judge = createJudgeStep({ codec, directory, settings, work })
  const trials = createTrialJudgeStep(codec, batch => judgeTrials(batchWorld, batch))
  return [await runStep(judge, world), await runStep(trials, world)]
}

/** Judging as the configuration of the process says. */
export async function startConfiguredJudge(
  platform: Platform,
  stepWorld: StepWorld,
): Promise<RunningStep[]> {
  const { configuration, telemetry } = platform
  const settings = judgeSettings(configuration, openJudgingModel(configuration))
  const onCall: CallWorld['onCall'] = ({ model, outcome, tokens, latencyMs }) => {
    telemetry.modelCalls.inc({ model, outcome })
    telemetry.modelTokens.inc({ model, direction: 'input' }, tokens.inputTokens)
    telemetry.modelTokens.inc({ model, direction: 'output' }, tokens.outputTokens)
    telemetry.modelSeconds.observe({ model }, latencyMs / 1000)
  }
  const onState: CallWorld['onState'] = ({ model, underWay, isOpen }) => {
    telemetry.modelCallsUnderWay.set(underWay)
    telemetry.modelBreakerOpen.set({ model }, isOpen ? 1 : 0)
  }
  return startJudge({ ...platform, ...stepWorld, onCall, onState }, settings)
}

/** What the configuration says about judging, with the model that it names. */
export function judgeSettings(settings: Configuration, judging: JudgingModel): JudgeSettings {
  return {
    ...judging,
    timeoutMs: settings.AMBIT_EVALUATOR_TIMEOUT_MS,
    attemptsMax: settings.AMBIT_EVALUATOR_MAX_ATTEMPTS,
    inFlightMax: settings.AMBIT_EVALUATOR_IN_FLIGHT_MAX,
    batchMax: settings.AMBIT_EVALUATOR_BATCH_MAX,
    batchWaitMs: settings.AMBIT_EVALUATOR_BATCH_WAIT_MS,
    outputTokens: settings.AMBIT_EVALUATOR_OUTPUT_TOKENS,
    breaker: {
      failuresMax: settings.AMBIT_EVALUATOR_BREAKER_FAILURES,
      openMs: settings.AMBIT_EVALUATOR_BREAKER_OPEN_MS,
    },
    suspendAfter: settings.AMBIT_EVALUATOR_SUSPEND_AFTER,
    prices: settings.AMBIT_EVALUATOR_PRICES,
  }
}
