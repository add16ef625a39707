"""What ATen's overloads ask of a device: the one list of those that need no kernel, and those that let values be read.

Reviewed by hand; a suite makes of it what `Operator` says (`computes`, `moves`, `reads`). Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable

from bringup.operators import Keeps, ReadAllowance


def _words(text: str, prefix: str = "") -> frozenset[str]:
    return frozenset(prefix + word for word in text.split())


# Overloads that allocate and leave the memory as it is.
ALLOCATIONS = _words(
    """
    empty.memory_format empty_like.default empty_permuted.default empty_strided.default new_empty.default
    new_empty_strided.default
    """,
    prefix="aten.",
)

# ATen overloads that need no kernel on a device which has memory and strides: views, allocation, and copies that keep
# the dtype. Taken from the aliasing in ATen's schemas and from what a bare PrivateUse1 device serves without a kernel.
# Not here: _to_copy (a cast is a computation), copy_ and the *_scatter overloads (they write into existing memory),
# pixel_shuffle and repeat are (reshape, permute or expand, then one layout copy).
NO_KERNEL = ALLOCATIONS | _words(
    """
    _reshape_alias.default _unsafe_view.default alias.default alias_copy.default as_strided.default
    as_strided_copy.default clone.default contiguous.default detach.default detach_copy.default diagonal.default
    diagonal_copy.default expand.default expand_copy.default lift_fresh.default narrow.default narrow_copy.default
    permute.default permute_copy.default pixel_shuffle.default pixel_unshuffle.default repeat.default reshape.default
    resize_.default resize_as_.default select.int select_copy.int slice.Tensor slice_copy.Tensor split.Tensor
    split_copy.Tensor split_with_sizes.default split_with_sizes_copy.default squeeze.default squeeze.dim squeeze.dims
    squeeze_copy.default squeeze_copy.dim squeeze_copy.dims t.default t_copy.default transpose.int transpose_copy.int
    unbind.int unbind_copy.int unfold.default unfold_copy.default unsafe_split.Tensor unsafe_split_with_sizes.default
    unsqueeze.default unsqueeze_copy.default view.default view.dtype view_as_real.default view_copy.default
    _local_scalar_dense.default
    """,
    prefix="aten.",
)

# Operators that move, fill or cast: each element of a result is an element of an input, in the result's dtype, or a
# constant, and which one does not hang on arithmetic with data. Who lets copies choose has left the operator's work to
# them.
MOVERS = _words(
    """
    __getitem__ _chunk_cat _unsafe_masked_index as_strided_scatter bfloat16 block_diag byte cartesian_prod cat char
    column_stack double float half int long short to
    combinations constant_pad_nd diag diag_embed diagflat diagonal_scatter dstack eye fft.fftshift fft.ifftshift
    fill flip fliplr flipud full full_like gather hstack index_copy index_fill index_put index_select isreal
    masked_fill masked_scatter masked_select new_full new_ones new_zeros nn.functional.channel_shuffle
    nn.functional.embedding nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d
    nn.functional.pad nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.unfold
    nn.functional.upsample_nearest ones ones_like put repeat_interleave roll rot90 scalar_tensor scatter
    select_scatter slice_scatter stack take take_along_dim tril tril_indices triu triu_indices vstack where zero_
    zeros zeros_like
    """
)

# Of these: where a call has more than one tensor, indices, counts or a mask say what goes where, and only kernels see
# them.
INDEXED = _words(
    """
    __getitem__ _unsafe_masked_index gather index_copy index_fill index_put index_select masked_fill masked_scatter
    masked_select nn.functional.embedding nn.functional.max_unpool1d nn.functional.max_unpool2d
    nn.functional.max_unpool3d put repeat_interleave scatter take take_along_dim where
    """
)

# Operators that leave elements as an argument has them, by their definition: what no index names, no mask marks, or
# lies on the other side of a diagonal. Of all others each element of each result is a kernel's to write.
KEEPING_ELEMENTS = _words(
    """
    _index_put_impl _unsafe_index_put _unsafe_masked_index_put_accumulate as_strided_scatter diagonal_scatter
    embedding_renorm fill_diagonal index_add index_copy index_fill index_put index_reduce masked_fill masked_scatter put
    scatter scatter_add scatter_reduce select_scatter slice_scatter tril triu
    """
)
# Operators that write an argument in some calls, and leave it, or rows of it, in others.
KEEPING_ARGUMENTS = _words(
    """
    _batch_norm_impl_index _batch_norm_with_update _native_batch_norm_legit batch_norm batch_norm_gather_stats
    batch_norm_gather_stats_with_counts batch_norm_update_stats cudnn_batch_norm instance_norm miopen_batch_norm
    native_batch_norm nn.functional.batch_norm nn.functional.embedding nn.functional.embedding_bag
    nn.functional.instance_norm
    """
)

# Overloads whose output shape, or whose result as a Python number, depends on the values of the inputs (ATen's tags
# `dynamic_output_shape` and `data_dependent_output`; `linalg_lstsq` has residuals where all ranks are full), and the
# bytes that a wrapper may read of what its kernels have computed: a size or a flag is one number of eight bytes, with
# room for a second one.
NUMBER = 16
READ_BYTES = dict.fromkeys(
    _words(
        """
        _local_scalar_dense.default allclose.default bincount.default equal.default is_nonzero.default
        masked_select.default nonzero.default nonzero_numpy.default repeat_interleave.Tensor
        unique_consecutive.default unique_dim.default unique_dim_consecutive.default _unique.default _unique2.default
        _ctc_loss.Tensor _ctc_loss.default index.Tensor linalg_lstsq.default
        """,
        prefix="aten.",
    ),
    NUMBER,
)
# Reading its input is the operator itself, or says where its result, a view, begins.
READS_INPUTS = frozenset({"item", "narrow"})


def computes(overloads: Iterable[str]) -> bool:
    """Whether some of the overloads that an operator dispatches to is more than a view, an allocation or a layout copy.

    An operator that dispatches nothing at all (metadata only) needs no kernel.
    """
    return any(overload not in NO_KERNEL for overload in overloads)


# Casts: a copy keeps the dtype, and so makes a result of theirs only where there is nothing to cast.
CASTS = _words("bfloat16 bool byte char double float half int long short to type_as")


def keeps(name: str) -> Keeps:
    """What an operator (`index_copy`, `nn.functional.embedding`) or an overload (`put_`) leaves as it was."""
    base = name if name.startswith("nn.") else name.partition(".")[0].rstrip("_")
    if base in KEEPING_ELEMENTS:
        return "elements"
    if name in CASTS:
        return "copies"
    return "arguments" if base in KEEPING_ARGUMENTS else "nothing"


# Operators whose tensor of indices says how many elements each result has: as many bytes as that of a case may hold.
SECTIONS = {"tensor_split": 2048 * 8}  # its results are views: no data is to be had by reading more


def read_allowance(overloads: Iterable[str], name: str = "") -> ReadAllowance:
    """How much a wrapper may read on the host, since a result or its shape depends on values.

    `name`: that of a public operator.
    """
    if name in SECTIONS:
        return ReadAllowance(nbytes=SECTIONS[name], inputs=True)
    found = list(overloads)
    nbytes = max((READ_BYTES.get(overload, 0) for overload in found), default=0)
    return ReadAllowance(nbytes=nbytes, inputs=name in READS_INPUTS)
