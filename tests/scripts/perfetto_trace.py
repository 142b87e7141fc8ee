# SPDX-License-Identifier: BSD-2-Clause
"""A Perfetto trace, read by the perfetto package's own classes, as Perfetto's documentation says that it is to be read: sequences with their
defaults, clocks and interned texts, slices by their begins and ends. What breaks a rule is an AssertionError."""

from collections import defaultdict
from types import SimpleNamespace

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import CounterDescriptor, Trace, TracePacket, TrackEvent

MONOTONIC, REALTIME = 3, 1
TEXTS = ("event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values")


class Sequence:
    """What one sequence's packets have said so far."""

    def __init__(self):
        self.texts = None  # by kind and number
        self.track = self.clock = None
        self.now = {}  # of its own clocks

    def state(self, packet):
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            self.texts = {kind: {} for kind in TEXTS}
            self.now = {}
        if packet.HasField("trace_packet_defaults"):
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for clock in packet.clock_snapshot.clocks:
            if 64 <= clock.clock_id < 128:
                assert clock.is_incremental
                (builtin,) = (c.timestamp for c in packet.clock_snapshot.clocks if c.clock_id == MONOTONIC)
                assert builtin == clock.timestamp
                self.now[clock.clock_id] = clock.timestamp
        for kind in TEXTS:
            for entry in getattr(packet.interned_data, kind):
                assert entry.iid not in self.texts[kind], "a number is given once"
                self.texts[kind][entry.iid] = entry.str.decode() if hasattr(entry, "str") else entry.name

    def time(self, packet):
        clock = packet.timestamp_clock_id or self.clock
        if clock == MONOTONIC:
            return packet.timestamp
        self.now[clock] += packet.timestamp
        return self.now[clock]


def value_of(sequence, arg):
    kind = arg.WhichOneof("value")
    if kind == "string_value_iid":
        return sequence.texts["debug_annotation_string_values"][arg.string_value_iid]
    if kind is None and arg.array_values:
        return [value_of(sequence, item) for item in arg.array_values]
    return [] if kind is None else getattr(arg, kind)


def args_of(sequence, event):
    return {sequence.texts["debug_annotation_names"][arg.name_iid]: value_of(sequence, arg) for arg in event.debug_annotations}


def packet_bytes(packet):
    """In the file, without the texts that it brings."""
    whole = len(packet.SerializeToString())
    texts = len(packet.interned_data.SerializeToString()) if packet.HasField("interned_data") else 0
    whole -= texts and texts + 2 + (texts >= 128)
    return whole + 2 + (whole >= 128)


class Decoded:
    """slices: track, category, name, begin_ns, end_ns, args, flow_from, flow_to, depth, packets (its begin and its end); counters: track, at_ns, value; tracks: by uuid."""

    def __init__(self, data):
        self.trace = Trace.FromString(data)
        self.tracks, self.counters, self.slices = {}, [], []
        self.open = defaultdict(list)
        sequences = defaultdict(Sequence)
        head = self.trace.packet[0].clock_snapshot
        assert head.primary_trace_clock == MONOTONIC
        clocks = {c.clock_id: c.timestamp for c in head.clocks}
        self.base_ns, self.real_ns = clocks[MONOTONIC], clocks.get(REALTIME)
        last = defaultdict(int)
        for packet in self.trace.packet:
            sequence = sequences[packet.trusted_packet_sequence_id]
            assert packet.trusted_packet_sequence_id
            sequence.state(packet)
            for clock in packet.clock_snapshot.clocks:  # Perfetto takes no snapshot of a sequence that goes back
                key = packet.trusted_packet_sequence_id, clock.clock_id
                assert clock.timestamp >= last[key]
                last[key] = clock.timestamp
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            if packet.HasField("track_event"):
                assert sequence.texts is not None, "the state comes first"
                self.event(sequence, packet, sequence.time(packet) - self.base_ns)
        assert not [track for track in self.open.values() if track], "every slice ends"

    def describe(self, track):
        assert track.uuid and track.uuid not in self.tracks
        assert not track.parent_uuid or track.parent_uuid in self.tracks
        self.tracks[track.uuid] = track

    def event(self, sequence, packet, at_ns):
        event = packet.track_event
        assert not event.track_uuid and sequence.track in self.tracks
        track, stack = self.tracks[sequence.track], self.open[sequence.track]
        if event.type == TrackEvent.TYPE_COUNTER:
            assert track.counter.unit == CounterDescriptor.UNIT_SIZE_BYTES
            self.counters.append(SimpleNamespace(track=track, at_ns=at_ns, value=event.counter_value))
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            (category,) = event.category_iids
            stack.append(SimpleNamespace(
                track=track, category=sequence.texts["event_categories"][category], name=sequence.texts["event_names"][event.name_iid],
                begin_ns=at_ns, end_ns=None, args=args_of(sequence, event), flow_from=list(event.flow_ids),
                flow_to=list(event.terminating_flow_ids), depth=len(stack), packets=[packet]))
            self.slices.append(stack[-1])
        else:
            assert event.type == TrackEvent.TYPE_SLICE_END
            done = stack.pop()
            done.end_ns = at_ns
            done.packets.append(packet)

    def parent_name(self, track):
        parent = self.tracks[track.parent_uuid]
        return parent.process.process_name or parent.name
