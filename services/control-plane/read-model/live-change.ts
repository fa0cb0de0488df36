/** What has changed in the read model, for whoever watches: names only, the rows are read then. */
export type LiveChange =
  | { kind: 'decision'; tenant: string; candidateId: string }
  | { kind: 'notice'; tenant: string; id: string }
  | { kind: 'mailbox'; tenant: string; messageId: string }
