/** `topics diff` and `topics apply`: Kafka's topics after the catalogue. */
import type { Command, CommandContext, TopicStep, Topics } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { TOPIC_OPTIONS, topicSettings } from '../topic-settings.ts'

export const topicsDiff: Command = {
  summary: 'Say what topics apply would do.',
  arguments: [],
  options: TOPIC_OPTIONS,
  notes: ['Exit code 1 when something cannot be applied: another partition count.'],
  run: context => withTopics(context, topics => topics.diff(), 'Nothing to do.'),
}

export const topicsApply: Command = {
  summary: 'Create and alter Kafka topics after the catalogue; none is ever deleted.',
  arguments: [],
  options: TOPIC_OPTIONS,
  run: context => withTopics(context, topics => topics.apply(), 'Nothing was to be done.'),
}

const COLUMNS = [
  ['ACTION', 'action'],
  ['TOPIC', 'topic'],
  ['SETTING', 'setting'],
  ['IS', 'was'],
  ['WANTED', 'want'],
] as const

async function withTopics(
  { flags, world, output }: CommandContext,
  work: (topics: Topics) => Promise<TopicStep[]>,
  nothing: string,
): Promise<ExitCode> {
  const topics = world.infra.topics(topicSettings(flags, world.env))
  try {
    const steps = await work(topics)
    if (output.isJson) output.json({ items: steps })
    else if (steps.length === 0) output.note(nothing)
    else output.text(formatTable(COLUMNS, steps.flatMap(rowsOf)))
    return steps.some(({ action }) => action === 'refuse') ? EXIT.failed : EXIT.ok
  } finally {
    await topics.stop()
  }
}

/** A new topic is one row; of an altered one each setting has its own. */
function rowsOf({ topic, action, was, want }: TopicStep): object[] {
  if (action === 'create') {
    return [{ action, topic, setting: 'partitions', want: want.partitions }]
  }
  return Object.keys(want).map(setting => ({
    ...{ action, topic, setting },
    was: was[setting],
    want: want[setting],
  }))
}
