/** What a command is, and what it may touch. */
import type { Client } from '#services/client/create-client.ts'
import type { TransportOptions } from '#services/client/transport.ts'
import type { ExitCode } from './exit-codes.ts'

export interface OptionRow {
  type: 'string' | 'boolean'
  short?: string
  multiple?: boolean
  /** Name of the value in the help. Default `VALUE`. */
  value?: string
  help: string
}

export interface Command {
  /** One line, for the list of commands. */
  summary: string
  /** Positional arguments as shown in the help: `ID`, `[ID]`, `ID...`. */
  arguments: readonly string[]
  options?: Readonly<Record<string, OptionRow>>
  /** More lines for `--help`. */
  notes?: readonly string[]
  run(context: CommandContext): Promise<ExitCode>
}

/** A parsed call of one command. */
export interface CommandContext {
  /** Positional arguments; their number was checked. */
  args: readonly string[]
  flags: Flags
  /** Connected on first use. */
  client(): Client
  /** The address that `client` uses. */
  url: string
  output: Output
  world: CliWorld
}

/** Options of a call, by name and type. */
export interface Flags {
  text(name: string): string | undefined
  texts(name: string): readonly string[]
  isSet(name: string): boolean
  /** A whole number of at least `min`; throws `UsageError` for anything else. */
  count(name: string, min?: number): number | undefined
  /** Throws `UsageError` when the option is missing. */
  required(name: string): string
}

export interface Output {
  isJson: boolean
  /** Text for people on stdout; a line feed is added. */
  text(text: string): void
  /** A value for programs on stdout, one JSON document. */
  json(value: unknown): void
  /** Remarks that are not the result, on stderr. */
  note(text: string): void
}

/** Everything outside that the program touches. */
export interface CliWorld {
  env: Readonly<Record<string, string | undefined>>
  stdout: { write(text: string): unknown }
  stderr: { write(text: string): unknown }
  /** Aborts on an interrupt. */
  interrupted: AbortSignal
  createClient(options: TransportOptions): Client
  fetch: typeof fetch
  /** Reads a file, or stdin for `-`. Rejects with the system's error. */
  readFile(path: string): Promise<string>
  /** Kind of access that is there: a reason it is not usable, or undefined. */
  folderProblem(path: string): Promise<string | undefined>
  /** Runs the embedded product with these arguments and answers its exit code. */
  startEmbedded(args: readonly string[]): Promise<number>
  infra: InfraProbes
}

/** The services of a distributed installation, reached directly. */
export interface InfraProbes {
  topics(settings: TopicSettings): Topics
  /** Rejects with what is wrong with it. */
  redis(url: string): Promise<void>
}

export interface TopicSettings {
  brokers: string[]
  prefix: string
  partitions: number
  replicationFactor: number
  /** Tenants whose `ingress.ext.<tenant>` topic is wanted. */
  tenants: readonly string[]
}

export interface TopicStep {
  topic: string
  action: 'create' | 'alter' | 'refuse'
  was: Record<string, string>
  want: Record<string, string>
}

export interface Topics {
  diff(): Promise<TopicStep[]>
  apply(): Promise<TopicStep[]>
  stop(): Promise<void>
}
