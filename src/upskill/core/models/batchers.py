"""The engine's batchers, extended where it loses what was paid for.

| the engine | here |
|---|---|
| forgets its batches when the process ends | each is in `batches.json` before it is made, and is found again |
| sends what came within some seconds | sends once all answers that are waited for are asked for: one batch for a look |
| drops a batch whole where one item failed or expired | each item has its own answer or its own error |
| waits for ever for an item that the results leave out | that item was not processed, and is asked again |
| sends a batch again where it heard no answer | looks first whether the provider made it |

Nothing is sent again in here: the meter decides that, for each question.
"""

import hashlib
import json
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2
from inspect_ai.model._providers.util import batch_log
from inspect_ai.model._providers.util.batch import Batch, BatchCheckResult, Batcher, BatchRequest
from inspect_ai.model._providers.util.hooks import HttpxHooks
from pydantic import ValidationError
from tenacity import retry_never, stop_never, wait_none

from upskill.core.models.batches import MOST_HOURS, MOST_IN_BATCH, Batching, SentBatch
from upskill.core.models.endpoint import Endpoint
from upskill.core.models.responses import BatchRefused, MalformedAnswer, NotProcessed, require_same_origin
from upskill.core.models.spending import current_bill
from upskill.core.nouns.text import count

if TYPE_CHECKING:
    from inspect_ai.model._retry import ModelRetryConfig

LEAST_POLL_SECONDS = 0.2
MOST_POLL_SECONDS = 30.0
POLL_SHARE = 0.02
"""A batch that is out for an hour is looked at every minute, at most every half minute."""
BEFORE_SECONDS = 60.0
"""How far a provider's clock may be behind ours."""

_ONCE: "ModelRetryConfig" = {
    "wait": wait_none(),
    "retry": retry_never,
    "stop": stop_never,
    "before_sleep": lambda _: None,
}


class _Kept(Batcher[Any, Any]):
    """What both providers have in common. A question is known by what is asked, of whom, and for which trial."""

    batching: Batching
    asked_of: Endpoint

    def begin(self, batching: Batching, endpoint: Endpoint) -> None:
        self.batching, self.asked_of = batching, endpoint
        self._wanted: set[str] = set()
        """Questions whose asker still waits."""
        self._had: set[tuple[str, str]] = set()
        """Batch and question of each result that was handed out: asked once more, such a question is a new one."""

    async def generate_for_request(self, request: dict[str, Any]) -> Any:
        headers = dict(request.get("extra_headers") or {})
        identity = headers[HttpxHooks.REQUEST_ID_HEADER] = self._identity(request)
        self._wanted.add(identity)
        try:
            return await super().generate_for_request({**request, "extra_headers": headers})
        finally:
            self._wanted.discard(identity)

    def _identity(self, request: dict[str, Any]) -> str:
        purpose = current_bill().purpose
        body = {name: value for name, value in request.items() if name != "extra_headers"}
        asked = [self.asked_of.name, self.asked_of.model, purpose.arm, purpose.case_id, purpose.repeat, body]
        return hashlib.sha256(json.dumps(asked, default=str, sort_keys=True).encode()).hexdigest()

    async def _process_intake_queue(self) -> bool:
        """Send one batch with all that is new, once everybody has asked."""
        out = [*self._inflight_batches.values()]
        if len(self._intake_queue) + sum(len(batch.requests) for batch in out) < self.batching.in_flight():
            self._tick = LEAST_POLL_SECONDS
            return False
        try:
            await self._find_those_that_are_out()
            sent = await super()._process_intake_queue()
        except Exception as error:  # noqa: BLE001 - handed to everybody who asked; in here it would end the engine
            await self._fail_all_requests("cannot be sent", self._intake_queue, error)
            self._intake_queue = []
            return False
        ages = [time.time() - batch.created_at for batch in self._inflight_batches.values()]
        self._tick = min(max(LEAST_POLL_SECONDS, POLL_SHARE * min(ages, default=0.0)), MOST_POLL_SECONDS)
        return sent

    async def _find_those_that_are_out(self) -> None:
        """Have questions of an earlier process, or of a download that failed, wait for the batch that holds them."""
        new = []
        for request in list(self._intake_queue):
            request.custom_id = request.request["extra_headers"][HttpxHooks.REQUEST_ID_HEADER]
            if request.custom_id not in self._wanted:
                continue  # a cap or a person ended the trial before it was sent
            batch_id = await self._batch_of(request.custom_id)
            if batch_id is None:
                new.append(request)
                continue
            if batch_id not in self._inflight_batches:
                self._inflight_batches[batch_id] = Batch(id=batch_id, requests={})
                self.batching.log.said(f"{self.asked_of.name}: collecting {batch_id}, which was sent before")
            self._inflight_batches[batch_id].requests[request.custom_id] = request
            request.submitted()
        self._intake_queue = new

    async def _batch_of(self, identity: str) -> str | None:
        for sent in self.batching.log.holding(identity):
            batch_id = sent.id or await self._made(sent)
            if batch_id is not None and (batch_id, identity) not in self._had:
                return batch_id
        return None

    async def _made(self, sent: SentBatch) -> str | None:
        """The name of a batch whose making was heard of no more, as the provider lists it; `None` where it is not."""
        async for batch_id in self._listed(sent):
            if not self.batching.log.knows(batch_id):
                self._keep(sent, batch_id)
                return batch_id
        self.batching.log.drop(sent)
        return None

    def _listed(self, sent: SentBatch) -> AsyncIterator[str]:
        """The provider's batches that can be this one."""
        raise NotImplementedError

    def _keep(self, sent: SentBatch, batch_id: str) -> None:
        kept = SentBatch(requests=sent.requests, at=sent.at, file=sent.file, id=batch_id)
        self.batching.log.keep(kept, after=sent)
        self.batching.log.said(
            f"{self.asked_of.name}: {batch_id} with {count(len(sent.requests), 'question')} is out; "
            f"answers within {MOST_HOURS} h"
        )

    def _intend(self, batch: list[BatchRequest[Any]], file: str | None = None) -> SentBatch:
        sent = SentBatch(requests=tuple(request.custom_id for request in batch), at=time.time(), file=file)
        self.batching.log.keep(sent)
        return sent

    def _handed_out(self, batch: Batch[Any], results: dict[str, Any], why: str) -> dict[str, Any]:
        """One result for everybody who waits: their own, or that they were not processed."""
        left = (BatchRefused if why.startswith(("failed", "cancel")) else NotProcessed)(f"{batch.id}: {why}")
        mine = {identity: results.get(identity, left) for identity in batch.requests}
        self._had.update((batch.id, identity) for identity in mine)
        return mine


def keep_batches(api: Any, batching: Batching, endpoint: Endpoint) -> None:
    """Give the engine's client of a provider batchers that keep their batches."""
    batch_log.set_batch_log_callback(lambda _: None)
    batch_log.set_batch_status_callback(lambda _: None)
    from inspect_ai.model import BatchConfig

    config = BatchConfig(size=1, max_size=MOST_IN_BATCH)
    if endpoint.model.startswith("openai/"):
        from openai.types.chat import ChatCompletion
        from openai.types.responses import Response

        api._completions_batcher = _openai(api.client, config, ChatCompletion, "/v1/chat/completions")
        api._responses_batcher = _openai(api.client, config, Response, "/v1/responses")
        made: tuple[_Kept, ...] = (api._completions_batcher, api._responses_batcher)
    else:
        api._batcher = _anthropic(api.client, config)
        made = (api._batcher,)
    for batcher in made:
        batcher.begin(batching, endpoint)


def _openai(client: Any, config: Any, kind: Any, path: Any) -> _Kept:
    from inspect_ai.model._providers._openai_batch import OpenAIBatcher

    class KeptOpenAI(_Kept, OpenAIBatcher[Any]):
        async def _create_batch(self, batch: list[BatchRequest[Any]]) -> str:
            self._sending = batch
            return await super()._create_batch(batch)

        async def _submit_batch_for_file(self, file_id: str, extra_headers: dict[str, str]) -> str:
            sent = self._intend(self._sending, file_id)
            batch_id = await super()._submit_batch_for_file(file_id, extra_headers)
            self._keep(sent, batch_id)
            return batch_id

        async def _listed(self, sent: SentBatch) -> AsyncIterator[str]:
            async for one in client.batches.list(limit=100):
                if one.created_at < sent.at - BEFORE_SECONDS:
                    return
                if one.input_file_id == sent.file:
                    yield one.id

        async def _check_batch(self, batch: Batch[Any]) -> BatchCheckResult[Any]:
            found = await client.batches.retrieve(batch.id)
            said = [one.message for one in (found.errors.data or ())] if found.errors else []
            ended = found.status in ("completed", "failed", "cancelled", "expired")
            return BatchCheckResult(
                completed_count=0,
                failed_count=0,
                created_at=found.created_at,
                completion_info={
                    "result_uris": [one for one in (found.output_file_id, found.error_file_id) if one],
                    "why": ": ".join([found.status, *dict.fromkeys(filter(None, said))]),
                }
                if ended
                else None,
            )

        async def _handle_batch_result(self, batch: Batch[Any], completion_info: Any) -> dict[str, Any]:
            results = await super()._handle_batch_result(batch, completion_info)
            return self._handed_out(batch, results, completion_info["why"])

        def _parse_jsonl_line(self, line_data: dict[str, Any]) -> tuple[str, Any]:
            identity, response = str(line_data["custom_id"]), line_data.get("response") or {}
            error, status = line_data.get("error"), response.get("status_code")
            if error is not None or status is None:
                return identity, NotProcessed(f"{(error or {}).get('code')}: {(error or {}).get('message')}")
            if status == httpx2.codes.OK:
                try:
                    return identity, kind.model_validate(response["body"])
                except ValidationError as wrong:
                    return identity, MalformedAnswer(f"the answer cannot be read ({str(wrong)[:200]})")
            asked = httpx2.Request("POST", str(client.base_url))
            reply = httpx2.Response(status, json=response.get("body"), request=asked)
            return identity, client._make_status_error_from_response(reply)

    return KeptOpenAI(client, config, _ONCE, kind, endpoint=path)


def _anthropic(client: Any, config: Any) -> _Kept:
    from inspect_ai.model._providers._anthropic_batch import AnthropicBatcher, _get_individual_result

    class KeptAnthropic(_Kept, AnthropicBatcher):
        async def _create_batch(self, batch: list[BatchRequest[Any]]) -> str:
            sent = self._intend(batch)
            batch_id = await super()._create_batch(batch)
            self._keep(sent, batch_id)
            return batch_id

        async def _listed(self, sent: SentBatch) -> AsyncIterator[str]:
            """It names no file: a batch of this size that was made then, oldest first."""
            found = []
            async for one in client.messages.batches.list(limit=100):
                if one.created_at.timestamp() < sent.at - BEFORE_SECONDS:
                    break
                if sum(dict(one.request_counts).values()) == len(sent.requests):
                    found.append(one.id)
            for batch_id in reversed(found):
                yield batch_id

        async def _handle_batch_result(self, batch: Batch[Any], completion_info: bool) -> dict[str, Any]:
            ended = await client.messages.batches.retrieve(batch.id)
            require_same_origin(str(client.base_url), str(client.base_url.join(ended.results_url or "")))
            results: dict[str, Any] = {}
            async for one in await client.messages.batches.results(batch.id):
                kinds = {"expired": NotProcessed, "canceled": BatchRefused}
                left = kinds.get(one.result.type)
                results[one.custom_id] = left(one.result.type) if left is not None else _get_individual_result(one)
            return self._handed_out(batch, results, "ended without this answer")

    return KeptAnthropic(client, config, _ONCE)
